// Writes cases.tsv: expressions and what mathjs makes of them, "error" where it has no finite real number.
//
//     npm install --no-save mathjs@15.2.0 && node generate.mjs > cases.tsv
import { parse, typeOf } from 'mathjs'

const chosen = `
2+2|2 + 3 * 4|(2 + 3) * 4|10 - 4 - 3|100 / 10 / 5|-2^2|(-2)^2|2^-1|2^3^2|2^-2^2|-2^-2|2^--2|--2|+-2|2--2|2 -3|- 3|1 - -1
10%3|-3%5|5 % -3|5%0|-5.5%2|10 % 3 * 2|2*10%3|2 % 3 ^ 2|10 mod 3|10 mod -3|10 mod (3)|mod(10, 3)|mod(-7,3)|mod(5,0)|mod mod 3
8%|200+5%|200-5%|200*5%|5%*3|5%+3|5%%3|(5)%|-5%|200 + -5%|200 + (5%)|100 + 5% * 2|10 + 20 + 5%|10 + 2 pi%|2^50%|5!%|5(2)%|5%(2)|200 + 5% - 5%|50%^2|5%!|5%%|%5|max(8%, 2%)|(100 + 10%) * 2|8% pi|5 %
3!|3!!|2^3!|-3!|3!^2|0!|20!|170!|171!|(-1)!|3! 2|3!(2)|3! pi|factorial(5)
2 pi|2pi|2(3+4)|(2)(3)|(2)3|2 3|pi 2|pi(2)|pi (2)|2pi^2|1/2pi|1/2 pi|6/2(1+2)|1/2(3)|2^3 pi|2^3(4)|-2 pi|2^2 3|-2 3|-pi 2|4/2 2|4 % 2 pi|2 sqrt(4)|sqrt(4)(3)|sqrt(4) 3|sqrt(4)^2 3|sqrt 4|2 e|2e|2e3|2e+3|2e+|2 e 3|e 2e3
1/2/3 pi|--1/2 pi|-1/2 pi|+1/2 pi|2^1/2 pi|(1)/2 pi|1/2 pi/3 pi|pi/2 pi|1/2! pi|1/2^2 pi|1/-2 pi|1/(2) pi|2 1/2 pi|pi 1/2 pi|1 / 2 mod 3|1/2 (3) 4|5%/2 pi|12/2/3(4)|7/8/3 mod 2
1.|.5|.|1..2|1.e3|1e5|1E5|1e-3|1.5e+3|0.1+0.2|9007199254740993|1e308*10|1e400|1e-400|00012|1 000
1/0|0/0|-1/0|0^0|0^-1|sqrt(-1)|log(-1)|log(0)|asin(2)|acosh(0.5)|atanh(1)|(-8)^(1/3)|cbrt(-8)
max()|max(1,2,3)|min(4)|sum(1,2,3.5)|prod(2,3,4)|mean(1,2,4)|median(3,1,2)|median(4,1,3,2)|median(1,1,2,2,2)|std(2,4,6)|std(5)|variance(1,2,3,4)|hypot(3,4)|hypot(3,4,5)|hypot(-2)
round(2.5)|round(-2.5)|round(-3.5)|round(0.5)|round(2.345,2)|round(1.005,2)|round(-1.005,2)|round(1234.5678,3)|round(0.49999999999999994)|round(1e21)|round(5e-324)|round(123456789.987654321,5)|round(9.995,2)|round(99.99,1)|round(2.5,16)|round(2.5,-1)|round(2.5,0.5)|round(0.1+0.2,15)|round(0.285*100,0)
floor(2.7)|floor(-2.7)|ceil(2.1)|ceil(-2.1)|fix(2.7)|fix(-2.7)|floor(2.55,1)|ceil(2.51,1)|fix(-2.55,1)|floor((0.1+0.7)*10)|ceil(0.1*3*10)|floor(4.35*100)|floor(-0.0000000000000001)|floor(1.15*100)|ceil(1.1*100)
log(8,2)|log(1000,10)|log(81,3)|log(e)|log10(1000)|log2(8)|log2(10)|exp(1)|exp(710)|log(2,1)|pow(2,10)|pow(2)|square(3)|cube(-2)|nthRoot(8,3)|nthRoot(-8,3)|nthRoot(-8,2)|nthRoot(9)|nthRoot(8,-3)|nthRoot(8,0)
sin(pi/2)|cos(pi)|tan(pi/4)|asin(1)|acos(-1)|atan(1)|atan2(1,2)|atan2(-1,-2)|sinh(1)|cosh(1)|tanh(1)|asinh(1)|acosh(2)|atanh(0.5)|sin(2 pi/6)
gcd(12,18,27)|gcd(-4,6)|gcd(0,5)|gcd(1.5,2)|lcm(4,6)|lcm(4,6,10)|lcm(0,5)|lcm(-4,6)|sign(-2)|sign(0)|abs(-3.5)|combinations(5,2)|combinations(50,25)|combinations(2,5)|combinations(5.5,2)|permutations(5,2)|permutations(5)|permutations(2,5)
pi|e|tau|phi|PI|E|SQRT2|SQRT1_2|LN2|LN10|LOG2E|LOG10E|Pi|x|foo(1)|ABS(2)|(1|1)|()|max(1,)|max(,1)|1,2|(1,2)|sin()|sin(1,2)|2**3|2^|^2|*2|2*|2+|!2|2 = 2
`.split('\n').filter(Boolean).flatMap(line => line.split('|'))

// Numerical Recipes' generator, so that a run is repeatable.
let seed = 1
const random = below => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return Math.floor((seed / 2 ** 32) * below)
}
const pick = list => list[random(list.length)]
const space = () => pick(['', '', '', ' ', '  '])
const number = () => pick(['0', '1', '2', '3', '7', '10', '12', '100', '0.5', '.25', '2.5', '1e3', '1.5e-2', '365'])
const one = ['abs', 'sqrt', 'cbrt', 'exp', 'log', 'log10', 'log2', 'sin', 'cos', 'tan', 'atan', 'sinh', 'tanh', 'asinh',
  'round', 'floor', 'ceil', 'fix', 'sign', 'square', 'cube']
const many = ['min', 'max', 'sum', 'mean', 'prod', 'median', 'std', 'variance', 'hypot']

function expression (depth) {
  const inner = () => expression(depth - 1)
  if (depth === 0) return random(5) ? number() : pick(['pi', 'e', 'tau', 'phi'])
  switch (random(12)) {
    case 0: case 1: return inner() + space() + pick(['+', '-']) + space() + inner()
    case 2: case 3: return inner() + space() + pick(['*', '/', '/']) + space() + inner()
    case 4: return inner() + space() + pick(['%', '%', ' mod ']) + space() + inner()
    case 5: return inner() + space() + pick(['', ' ']) + inner()
    case 6: return inner() + space() + '^' + space() + inner()
    case 7: return pick(['-', '+']) + space() + inner()
    case 8: return inner() + space() + pick(['%', '%', '!'])
    case 9: return '(' + space() + inner() + space() + ')'
    case 10: return pick(one) + space() + '(' + inner() + ')'
    default: return pick(many) + '(' + inner() + space() + ',' + space() + inner() + ')'
  }
}

const isFinite = value => typeOf(value) === 'number' && Number.isFinite(value)

/** What mathjs says, or nothing where the hub means to differ from it. */
function verdict (text) {
  let tree
  try { tree = parse(text) } catch { return 'error' }
  // The hub stops at the first step that is no finite number, and has factorials of whole numbers only.
  let steps = true
  let other = false
  tree.traverse((node, path) => {
    if (path === 'fn') return
    try {
      steps &&= isFinite(node.evaluate())
      if (node.fn === 'factorial') other ||= !Number.isInteger(node.args[0].evaluate())
      // Where floor takes a hair for a whole number depends on the last bit of what it is given, and all that
      // is left of a large fraction are its last bits.
      if (node.fn === 'mod') {
        const [x, y] = node.args.map(argument => argument.evaluate())
        const exact = Number.isInteger(x) && Number.isInteger(y)
        other ||= Math.abs(x / y) > (exact ? 1e9 : 100) || !exact && Math.abs(x / y - Math.round(x / y)) < 1e-9
      }
      // So it is with a large angle, unless it is given to the last bit.
      if (['sin', 'cos', 'tan'].includes(node.fn?.name)) {
        other ||= !node.args[0].isConstantNode && Math.abs(node.args[0].evaluate()) > 1e3
      }
    } catch { steps = false }
  })
  let value
  try { value = tree.evaluate() } catch { return 'error' }
  if (!isFinite(value)) return 'error'
  if (!steps || other) return undefined
  return String(value)
}

const seen = new Set()
const write = text => {
  if (seen.has(text) || text.length > 120) return
  seen.add(text)
  const answer = verdict(text)
  if (answer !== undefined) console.log(text + '\t' + answer)
}
chosen.forEach(write)
while (seen.size < 2000) write(expression(1 + random(4)))
