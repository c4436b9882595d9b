#!/usr/bin/env bash
# Makes what a mosquitto for Hearthwave needs: certificates, logins, access rules and its configuration.
#
#   docs/broker/make.sh FOLDER --host NAME… --hub ID… [--satellite NAME…] [--relay NAME…]
#                              [--home-assistant NAME…] [--admin NAME…] [--remove NAME…]
#                              [--port NUMBER] [--bind ADDRESS]
#
#   --host            a name or an address by which hubs and programs reach the broker: the first is told to people
#   --hub             a hub, by its id (the setting hub.id), which is also its user name
#   --satellite       may talk to hubs and hear them
#   --relay           carries questions to language models and searches, and their answers
#   --home-assistant  sees the home and what needs approval, and acts
#   --admin           may do everything under hearthwave/, settings and documents included
#   --remove          takes a login away
#   --port            8883 unless given; --bind: all interfaces unless given
#
# Run it again to add names, or without names to renew the broker's certificate: what there is stays as it is, passwords
# and CA included. Needs bash, openssl and mosquitto_passwd. docs/broker/README.md explains the rules.
set -euo pipefail
umask 077
PATH=$PATH:/usr/sbin:/sbin

readonly ROLES=(hub satellite relay home-assistant admin)
readonly CA_DAYS=3650
# More than 825 is refused by some clients.
readonly BROKER_DAYS=825
# A certificate that is older is made anew.
readonly RENEW_SECONDS=$((90 * 24 * 3600))

complain() {
    printf 'make.sh: %s\n' "$*" >&2
    exit 2
}

# Runs a program, whose words are shown only if it fails.
quietly() {
    local words
    words=$("$@" 2>&1) || complain "$1 failed: $words"
}

usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }

# Names go into topics, files and lines: nothing in them may mean something there.
check_name() {
    [[ $2 =~ ^[A-Za-z0-9_-]{1,32}$ ]] || complain "--$1 $2: a name has 1 to 32 letters, digits, '-' and '_'"
    # hearthwave/relay/availability is the relays' own.
    [[ $1 != hub || $2 != relay ]] || complain "--hub relay: no hub can be called so"
}

is_address() { [[ $1 =~ ^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$ || $1 == *:* ]]; }

check_host() {
    [[ $1 =~ ^[A-Za-z0-9._:-]+$ ]] || complain "--host $1: a name or an address is needed, without a port"
}

# `role name` of each login, one a line.
declare -a hosts=() added=() removed=()
folder='' port='' bind='' is_group_new=''

read_arguments() {
    while (($# > 0)); do
        case $1 in
        -h | --help) usage && exit ;;
        --host | --port | --bind | --remove | --hub | --satellite | --relay | --home-assistant | --admin)
            local option=${1#--} count=0
            shift
            while (($# > 0)) && [[ $1 != -* ]]; do
                take "$option" "$1"
                count=$((count + 1))
                shift
            done
            ((count > 0)) || complain "--$option needs a name"
            ;;
        -*) complain "there is no option $1; --help lists those that there are" ;;
        *)
            [[ -z $folder ]] || complain "one folder, not both $folder and $1"
            folder=$1
            shift
            ;;
        esac
    done
    [[ -n $folder ]] || { usage >&2 && exit 2; }
}

take() {
    case $1 in
    host) check_host "$2" && hosts+=("$2") ;;
    port)
        [[ $2 =~ ^[0-9]{1,5}$ ]] || complain "--port $2: not a number"
        port=$2
        ;;
    bind)
        is_address "$2" || complain "--bind $2: an address of this machine is needed"
        check_host "$2" && bind=$2
        ;;
    remove) check_name "$1" "$2" && removed+=("$2") ;;
    *) check_name "$1" "$2" && added+=("$1 $2") ;;
    esac
}

# What an earlier run was told, unless this one says otherwise.
remember() {
    local kept_port='' kept_bind='' host
    local -a kept=()
    if [[ -e $folder/made ]]; then
        while read -r key value; do
            case $key in
            host) kept+=("$value") ;;
            port) kept_port=$value ;;
            bind) kept_bind=$value ;;
            esac
        done <"$folder/made"
    fi
    for host in ${hosts[@]+"${hosts[@]}"}; do
        [[ " ${kept[*]-} " == *" $host "* ]] || kept+=("$host")
    done
    hosts=(${kept[@]+"${kept[@]}"})
    port=${port:-${kept_port:-8883}}
    bind=${bind:-$kept_bind}
    ((${#hosts[@]} > 0)) || complain "--host is missing: a name or address by which hubs reach the broker"
    {
        printf 'port %s\nbind %s\n' "$port" "$bind"
        printf 'host %s\n' "${hosts[@]}"
    } >"$folder/made"
}

make_ca() {
    [[ -s ca.key && -s ca.crt ]] && return
    quietly openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days $CA_DAYS \
        -subj "/CN=Hearthwave CA of ${hosts[0]}" -keyout ca.key.new -out ca.crt.new
    mv ca.key.new ca.key
    mv ca.crt.new ca.crt
}

# Made again if there is another name for the broker, or if it ends soon.
make_certificate() {
    local names=() host
    for host in "${hosts[@]}"; do
        if is_address "$host"; then names+=("IP:$host"); else names+=("DNS:$host"); fi
    done
    local wanted
    wanted=$(IFS=,; printf '%s' "${names[*]}")
    if [[ -e broker.crt && $(cat broker.names 2>/dev/null) == "$wanted" ]] &&
        openssl x509 -in broker.crt -noout -checkend $RENEW_SECONDS >/dev/null; then
        return
    fi
    quietly openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -subj "/CN=${hosts[0]}" \
        -keyout broker.key.new -out broker.csr
    quietly openssl x509 -req -sha256 -in broker.csr -CA ca.crt -CAkey ca.key -set_serial "0x$(openssl rand -hex 15)" \
        -days $BROKER_DAYS -out broker.crt.new -extfile <(
            printf 'subjectAltName=%s\nbasicConstraints=critical,CA:FALSE\n' "$wanted"
            printf 'keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n'
        )
    mv broker.key.new broker.key
    mv broker.crt.new broker.crt
    rm broker.csr
    printf '%s' "$wanted" >broker.names
}

# `logins` has a line for each: role, name and password. mosquitto gets a file with the hashes.
make_logins() {
    local line role name known password kept
    touch logins passwords
    for name in ${removed[@]+"${removed[@]}"}; do
        grep -q "^[a-z-]* $name " logins || complain "--remove $name: there is no such login"
        # It knows the name of the group.
        [[ $(role_of "$name") != relay ]] || rm -f relay.group
        for kept in "logins ^[a-z-]* $name " "passwords ^$name:"; do
            { grep -v "${kept#* }" "${kept%% *}" || true; } >kept
            mv kept "${kept%% *}"
        done
    done
    for line in ${added[@]+"${added[@]}"}; do
        read -r role name <<<"$line"
        known=$(role_of "$name")
        [[ -z $known || $known == "$role" ]] || complain "$name is a $known already; one name, one role"
        [[ -z $known ]] || continue
        # 120 bits, in letters that can be read out and typed.
        password=$(openssl rand -hex 15)
        # Through a file: arguments of a program can be seen by everybody on the machine.
        printf '%s:%s\n' "$name" "$password" >new
        mosquitto_passwd -U new
        cat new >>passwords
        rm new
        printf '%s %s %s\n' "$role" "$name" "$password" >>logins
        fresh+=("$name")
    done
}

rules_for() {
    local name=$2
    printf '\nuser %s\n' "$name"
    case $1 in
    hub)
        cat <<END
# Everything of its own, and nothing of another hub's. Replies go below reply/, where callers have a place each.
topic readwrite hearthwave/$name/#
# Whether a relay is there.
topic read hearthwave/relay/availability
# What it announces to Home Assistant, and when that starts.
topic readwrite homeassistant/device/$name/#
topic read homeassistant/status
END
        ;;
    satellite)
        cat <<END
# It talks, and takes back what it said.
topic write hearthwave/+/request/transcript
topic write hearthwave/+/request/chat
topic write hearthwave/+/request/cancel
# It hears what to say, how loud, and what to show meanwhile.
topic read hearthwave/+/availability
topic read hearthwave/+/speech
topic read hearthwave/+/volume
topic read hearthwave/+/event/chat
# Answers to itself.
topic read hearthwave/+/reply/$name/#
END
        ;;
    relay)
        cat <<END
# Questions to models and searches, and how large an answer may be.
topic read hearthwave/+/llm/request/+
topic read hearthwave/+/service/search/request
topic read hearthwave/+/info
# Their answers.
topic write hearthwave/+/llm/response
topic write hearthwave/+/service/search/response
# Whether it is there, and whether another one is not any more.
topic readwrite hearthwave/relay/availability
END
        ;;
    home-assistant)
        cat <<END
# The home, what happens in it, and what waits for approval.
topic read hearthwave/+/availability
topic read hearthwave/+/info
topic read hearthwave/+/volume
topic read hearthwave/+/home
topic read hearthwave/+/device/+
topic read hearthwave/+/event/#
topic read hearthwave/+/speech
topic read hearthwave/+/approval/#
topic read hearthwave/+/health
topic read hearthwave/+/log
topic read hearthwave/relay/availability
# Answers to itself, and to nobody else.
topic read hearthwave/+/reply/$name/#
# It talks, acts, and approves: whoever may press its buttons may unlock the door.
topic write hearthwave/+/request/chat
topic write hearthwave/+/request/transcript
topic write hearthwave/+/request/cancel
topic write hearthwave/+/request/speak
topic write hearthwave/+/request/tool/call
topic write hearthwave/+/request/tool/list
topic write hearthwave/+/request/prompt/list
topic write hearthwave/+/request/device/set
topic write hearthwave/+/request/device/list
topic write hearthwave/+/request/approve
topic write hearthwave/+/request/health
topic write hearthwave/+/request/time/set
# What hubs announce to it; it removes what somebody deletes there.
topic readwrite homeassistant/#
END
        ;;
    admin)
        cat <<END
# Everything of all hubs: settings, documents, conversations.
topic readwrite hearthwave/#
END
        ;;
    esac
}

# Relays share the questions of hubs as a group. mosquitto lets everybody join a group that they can name, and gives those
# who may not read their share of the questions all the same, so it is lost. So the name is a secret of the relays.
make_group() {
    [[ -s relay.group ]] && return
    openssl rand -hex 15 >relay.group
    local name
    # The others are told with their password.
    while read -r name; do
        [[ " ${fresh[*]-} " == *" $name "* ]] || is_group_new=yes
    done < <(sed -n 's/^relay \([^ ]*\) .*/\1/p' logins)
}

make_rules() {
    local role title name
    local -A titles=(
        [hub]="Hubs"
        [satellite]="Satellites: they talk. No settings, no documents, no tools, no approval"
        [relay]="Relays: questions and answers, and nothing of the home"
        [home-assistant]="Home Assistant: not the questions to models, and nobody else's replies"
        [admin]="People who set hubs up"
    )
    echo "# Who may do what at this broker. Made by make.sh, which overwrites it; what is not allowed is denied."
    for role in "${ROLES[@]}"; do
        grep -q "^$role " logins || continue
        printf '\n# --- %s.\n' "${titles[$role]}"
        while read -r name; do
            rules_for "$role" "$name"
        done < <(sed -n "s/^$role \([^ ]*\) .*/\1/p" logins)
    done
}

configuration() {
    cat <<END
# mosquitto for Hearthwave. Made by make.sh, which overwrites it.

# There is no listener without TLS, so no password travels in the open. Hubs speak TLS 1.3; some satellites only know 1.2.
listener $port${bind:+ $bind}
certfile $PWD/broker.crt
keyfile $PWD/broker.key
tls_version tlsv1.2

# Nobody without a login, and each login does what its rules allow.
allow_anonymous false
password_file $PWD/passwords
acl_file $PWD/rules

# Small packets leave at once. Without this, somebody who makes call after call waits 40 ms for each.
set_tcp_nodelay true

# What a client that is away or slow may have waiting: messages and bytes. A hub's session ends by itself when it has been
# away for long. More than a board takes in a few seconds would only keep the other callers waiting.
max_queued_messages 200
max_queued_bytes 1048576

# A client id belongs to whoever connects with it last: a login that is leaked can disconnect another client again and
# again, though it can neither read nor write for it. This ends that, at the price of one connection for each login, so
# that a person cannot have two terminals open:
#use_username_as_clientid true
END
}

# The daemon is another user.
hand_over() {
    chmod 600 ca.key logins relay.group
    chmod 644 ca.crt broker.crt
    if [[ $(id -u) == 0 ]] && getent group mosquitto >/dev/null; then
        chgrp mosquitto . broker.key passwords rules hearthwave.conf
        chmod 640 broker.key passwords rules hearthwave.conf
        # Everybody may get at ca.crt.
        chmod 751 .
    else
        chmod 600 broker.key passwords rules hearthwave.conf
    fi
}

role_of() { sed -n "s/^\([a-z-]*\) $1 .*/\1/p" logins; }
password_of() { sed -n "s/^[a-z-]* $1 //p" logins; }

say_next() {
    local name role url="mqtts://${hosts[0]}"
    [[ $port == 8883 ]] || url+=:$port
    cat <<END
In $PWD:
  hearthwave.conf   for mosquitto: mosquitto -c $PWD/hearthwave.conf, or on Debian
                    ln -s $PWD/hearthwave.conf /etc/mosquitto/conf.d/ and systemctl restart mosquitto
  ca.crt            the certificate that hubs and programs trust
  logins            all passwords; keep it to yourself, like ca.key
END
    for name in ${fresh[@]+"${fresh[@]}"}; do
        role=$(role_of "$name")
        echo
        case $role in
        hub)
            cat <<END
$name, a hub. On its console (docs/console.md), or by the same settings (docs/settings.md):
  set hub.id $name
  set broker.url $url
  set broker.user $name
  set broker.password $(password_of "$name")
  set broker.ca and the lines of ca.crt, pasted as they are
  restart
END
            ;;
        relay)
            cat <<END
$name, a relay:
  HEARTHWAVE_BROKER_USER=$name HEARTHWAVE_BROKER_PASSWORD=$(password_of "$name") \\
    HEARTHWAVE_RELAY_GROUP=$(cat relay.group) \\
    cargo relay --broker $url --ca $PWD/ca.crt --provider ollama
END
            ;;
        home-assistant)
            cat <<END
$name, a Home Assistant. Settings, Devices & services, MQTT: broker ${hosts[0]}, port $port, MQTT version 5,
  ca.crt as its CA certificate, user name $name, password $(password_of "$name")
END
            ;;
        *)
            cat <<END
$name (${role/admin/all rights}): user name $name, password $(password_of "$name"). It asks for replies
  below hearthwave/HUB/reply/$name/, with the login in ~/.config/mosquitto_rr (README.md, "Replies"):
  mosquitto_rr -V 5 -h ${hosts[0]} -p $port --cafile $PWD/ca.crt \\
    -t hearthwave/HUB/request/chat -e hearthwave/HUB/reply/$name/1 -m '{"text":"is the front door locked?"}'
END
            ;;
        esac
    done
    if [[ -n $is_group_new ]]; then
        printf '\nThe relays have a new group: set HEARTHWAVE_RELAY_GROUP to the text in relay.group for each of them.\n'
    fi
    echo
    echo "After a change of rules or passwords: systemctl reload mosquitto; of certificates: restart it."
}

main() {
    declare -a fresh=()
    read_arguments "$@"
    for program in openssl mosquitto_passwd; do
        command -v $program >/dev/null || complain "$program is missing (on Debian: apt install openssl mosquitto)"
    done
    mkdir -p "$folder"
    # Its rights are changed at the end.
    [[ -e $folder/made || -z $(ls -A "$folder") ]] || complain "$folder has other things in it; give it a folder of its own"
    remember
    cd "$folder"
    make_ca
    make_certificate
    make_logins
    make_group
    make_rules >rules
    configuration >hearthwave.conf
    hand_over
    say_next
}

main "$@"
