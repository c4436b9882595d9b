// Sets a hub up as a browser does, with the SDK that browsers use (improv-wifi-serial-sdk).
//
//   node improv.mjs SDK HOST:PORT|SOCKET SSID PASSWORD WRONG-PASSWORD
//
// SDK is the folder of the package. Prints one JSON object with everything that the SDK understood.
import net from 'node:net'
import { register } from 'node:module'
import { pathToFileURL } from 'node:url'
import path from 'node:path'

const [sdk, address, ssid, password, wrong] = process.argv.slice(2)

// The package is made for bundlers: modules without a type, and imports without an extension.
const hooks = `
  export async function resolve(name, context, next) {
    return next(name.startsWith('.') && !/\\.m?js$/.test(name) ? name + '.js' : name, context)
  }
  export async function load(url, context, next) {
    return next(url, url.includes('improv-wifi-serial-sdk') ? { ...context, format: 'module' } : context)
  }`
register('data:text/javascript,' + encodeURIComponent(hooks))
// Node 18 has no CustomEvent.
globalThis.CustomEvent ??= class extends Event {
  constructor(type, { detail } = {}) {
    super(type)
    this.detail = detail
  }
}
const { ImprovSerial } = await import(pathToFileURL(path.join(sdk, 'dist/serial.js')))

const target = /^[^/]*:\d+$/.test(address)
  ? { host: address.split(':')[0], port: Number(address.split(':')[1]) }
  : { path: address }
const socket = net.connect(target)
await new Promise((done, fail) => socket.once('connect', done).once('error', fail))

/** A serial port as a browser has it, over the socket. */
const port = {
  readable: new ReadableStream({
    start(controller) {
      socket.on('data', (data) => controller.enqueue(new Uint8Array(data)))
      socket.on('close', () => controller.close())
    },
  }),
  writable: new WritableStream({
    write: (bytes) => new Promise((done) => socket.write(bytes, done)),
  }),
}

const logged = []
const logger = { log() {}, debug() {}, error: (...text) => logged.push(text.map(String).join(' ')) }
const hub = new ImprovSerial(port, logger)
const states = []
hub.addEventListener('state-changed', (event) => states.push(event.detail))
const attempt = (promise) => promise.then((value) => value ?? null, (error) => ({ error: String(error) }))

// Somebody has typed half a line before.
socket.write('shw')
const seen = { info: await hub.initialize(20000), before: hub.state }
seen.networks = await hub.scan(30000)
seen.online = [(await hub.requestNetworkState()).online]
seen.refused = await attempt(hub.provision(ssid, wrong, 30000))
seen.between = hub.state
seen.joined = await attempt(hub.provision(ssid, password, 30000))
seen.after = hub.state
seen.url = hub.nextUrl ?? null
await hub.requestCurrentState()
seen.asked = hub.state
seen.online.push((await hub.requestNetworkState()).online)
// Seven characters make a frame of ten bytes.
seen.names = [await hub.getDeviceName(), await hub.setDeviceName('Hallway'), await hub.getDeviceName()]
seen.hosts = [await hub.getHostname(), await attempt(hub.setHostname('no such name')), await hub.setHostname('hallway')]
console.log(JSON.stringify({ ...seen, states, logged }))
socket.destroy()
process.exit(0)
