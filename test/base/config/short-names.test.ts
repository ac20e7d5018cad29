import t from 'tap'
import { parseConfig } from '../../../src/base/config/load.js'

const OPEN = '[api]\nlisten = ["0.0.0.0:8443"]\n'

/** The keys of the names that are too short, and their messages. */
function shortNamesOf(toml: string, hostname = 'mailbox'): Readonly<Record<string, string>> {
  const loaded = parseConfig(toml, null, { hostname, home: '/', isRoot: false, stateHome: undefined })
  if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
  return Object.fromEntries(loaded.shortNames.map(({ key, message }) => [key, message]))
}

function keysOf(toml: string, hostname?: string): readonly string[] {
  return Object.keys(shortNamesOf(toml, hostname))
}

t.test('a host name of one label is named as soon as one listener is not on loopback', async (t) => {
  const cases: readonly (readonly [toml: string, isOpen: boolean])[] = [
    ['', false],
    ['[api]\nlisten = []\n[submission]\nlisten = []\nlisten_tls = []\n[inbound]\nlisten = []', false],
    ['[api]\nlisten = ["unix:/run/api.sock", "http://127.0.0.1:8080", "[::1]:8443", "127.9.9.9:443"]', false],
    ['[inbound]\nlisten = ["localhost:25", "[::ffff:127.0.0.1]:26"]', false],
    ['[api]\nlisten = ["127.0.0.1:8443", "0.0.0.0:8444"]', true],
    ['[api]\nlisten = ["192.168.1.2:0"]', true],
    ['[submission]\nlisten = ["[::]:587"]', true],
    ['[submission]\nlisten_tls = ["mailbox:465"]', true],
    ['[inbound]\nlisten = ["192.0.2.1:25"]', true],
    ['[dns]\nzone_listen = ["0.0.0.0:53"]\nnameservers = ["ns1.a.test"]', true],
    ['[metrics]\nlisten = ["10.0.0.1:9090"]', true],
    ['[tls.acme]\nenabled = false\nhttp_listen = ["0.0.0.0:80"]', false],
    ['[tls.acme]\nenabled = true', true],
    ['[tls.acme]\nenabled = true\nhttp_listen = ["127.0.0.1:80"]', false],
  ]
  for (const [toml, isOpen] of cases) t.same(keysOf(toml), isOpen ? ['service.hostname'] : [], toml)
})

t.test('the message says the name, where it is from, the listener, and what is allowed', async (t) => {
  const set = shortNamesOf(`[service]\nhostname = "Post"\n${OPEN}`)
  t.match(set, {
    'service.hostname':
      /^found "post", a name of one label, .* while api\.listen\[0\], 0\.0\.0\.0:8443, is not on loopback; allowed: .*"mail\.example\.com".* A or AAAA .* PTR .* loopback alone$/,
  })
  t.match(shortNamesOf(OPEN, 'MailBox'), {
    'service.hostname': /^found "mailbox" \(the name of this machine, because the file does not set the key\), a name/,
  })
  t.match(shortNamesOf(OPEN, 'my_box'), {
    'service.hostname':
      /^found "localhost" \(because .* the name of this machine, "my_box", is not a host name\), a name/,
  })
})

t.test('which host names are long enough', async (t) => {
  for (const name of ['mailbox', 'localhost', 'MAIL', 'xn--mgba', 'a-b']) {
    t.same(keysOf(OPEN, name), ['service.hostname'], name)
    t.same(
      keysOf(`[service]\nhostname = "${name}"\n${OPEN}`, 'mail.a.test'),
      ['service.hostname'],
      `${name} in the file`,
    )
  }
  for (const name of ['mail.a.test', 'a.b', 'mx.xn--mgba.test']) {
    t.same(keysOf(OPEN, name), [], name)
    t.same(keysOf(`[service]\nhostname = "${name}"\n${OPEN}`), [], `${name} in the file`)
  }
})

t.test('other names of the server that the file sets are judged too', async (t) => {
  const names = `
[service]
hostname = "mail.a.test"
zone = "zone"
inbound_mx_host = "mx"
mail_from = "posthorn@home"
[dns]
zone_listen = ["127.0.0.1:53"]
nameservers = ["ns1.a.test", "ns2"]
[[outbound.sources]]
address = "192.0.2.1"
[[outbound.sources]]
address = "192.0.2.2"
hello = "second"
`
  t.same(keysOf(names), [], 'on loopback')
  t.same(keysOf(`${names}${OPEN}`), [
    'outbound.sources[1].hello',
    'service.zone',
    'service.inbound_mx_host',
    'service.mail_from',
    'dns.nameservers[1]',
  ])
  t.match(shortNamesOf(`[service]\nzone = "zone"\n${OPEN}`, 'mail.a.test'), {
    'service.zone': /^found "zone", a name of one label, .* allowed: a name in a domain of yours/,
  })
})
