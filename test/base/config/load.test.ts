import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { stringify } from 'smol-toml'
import t from 'tap'
import type { Config, Machine } from '../../../src/base/config/complete.js'
import { type LoadedConfig, loadConfig, parseConfig } from '../../../src/base/config/load.js'
import { builtInPlans } from '../../../src/base/config/plans.js'
import { formatProblems, type Problem } from '../../../src/base/config/problems.js'
import { settings } from '../../../src/base/config/schema.js'
import { networks } from '../../helpers/config-values.js'

const laptop: Machine = { hostname: 'Laptop', home: '/home/ann', isRoot: false, stateHome: undefined }
const minute = 60_000

function config(loaded: LoadedConfig): Config {
  if (loaded.kind === 'config') return loaded.config
  throw new Error(formatProblems(loaded.file, loaded.problems))
}

function problems(toml: string): readonly Problem[] {
  const loaded = parseConfig(toml, '/etc/posthorn/posthorn.toml', laptop)
  return loaded.kind === 'problems' ? loaded.problems : []
}

function keys(toml: string): readonly string[] {
  return problems(toml).map(({ key }) => key)
}

const defaults = config(parseConfig('', null, laptop))

t.test("without a file everything listens on loopback and is stored in the user's home", async (t) => {
  t.same(defaults.service, {
    hostname: 'laptop',
    data_dir: '/home/ann/.local/state/posthorn',
    zone: 'laptop',
    inbound_mx_host: 'mx.laptop',
    mail_from: 'posthorn@laptop',
    public_url: 'https://laptop:8443',
    public_addresses: [],
  })
  const noZone = { zone_listen: [], nameservers: [], ttl: 60 * minute, caa: [], secondaries: [], notify: [] }
  t.match(defaults.dns, noZone)
  const { acme, ...pair } = defaults.tls
  t.same(pair, { cert_file: null, key_file: null })
  t.match(acme, { enabled: false, email: null, http_listen: [{ host: '0.0.0.0', port: 80 }], ca_file: null })
  t.equal(acme.directory.href, 'https://acme-v02.api.letsencrypt.org/directory')
  t.same(defaults.api.listen, [{ kind: 'tls', host: '127.0.0.1', port: 8443 }])
  t.same(defaults.submission.listen, [{ host: '127.0.0.1', port: 1587 }])
  t.same(defaults.submission.listen_tls, [{ host: '127.0.0.1', port: 1465 }])
  t.equal(defaults.submission.allow_plaintext_loopback, false)
  t.equal(defaults.submission.max_size, 15 * 1024 * 1024)
  t.same(defaults.inbound.listen, [{ host: '127.0.0.1', port: 2525 }])
  t.match(defaults.inbound, { proxies: [], dnsbl: [], max_size: 35 * 1024 * 1024, refuse_listed_from: undefined })
  t.equal(defaults.inbound.dmarc, 'reject')
  t.same(defaults.spam, { suspicious_score: 4, spam_score: 8, rspamd_url: null, rspamd_url_file: '' })
  t.same(defaults.outbound.allowed_private_networks, [])
  t.same(
    defaults.outbound.retry_schedule,
    [5, 15, 30, 60, 120, 240].map((step) => step * minute),
  )
  t.equal(defaults.outbound.expire_after, 4 * 24 * 60 * minute)
})

t.test('defaults follow the machine and the keys that are set', async (t) => {
  const dataDir = (machine: Partial<Machine>) =>
    config(parseConfig('', null, { ...laptop, ...machine })).service.data_dir
  t.equal(dataDir({ isRoot: true }), '/var/lib/posthorn')
  t.equal(dataDir({ stateHome: '/state' }), '/state/posthorn')
  t.equal(dataDir({ stateHome: 'relative' }), '/home/ann/.local/state/posthorn', 'XDG paths are absolute or nothing')
  const odd = config(parseConfig('', null, { ...laptop, hostname: 'my_box!' }))
  t.equal(odd.service.hostname, 'localhost', 'a name that cannot stand in EHLO is not used')
  const named = config(parseConfig('[service]\nhostname = "MX.Example.net"\nzone = "z.example.net"', null, laptop))
  t.equal(named.service.hostname, 'mx.example.net')
  t.equal(named.node.name, 'mx.example.net', 'a node has the name of the server')
  const stored =
    '[service]\nhostname = "mx.example.net"\n[storage]\nurl = "postgres://localhost/posthorn"\n[node]\nname = '
  const nodeOf = (name: string) => config(parseConfig(`${stored}"${name}"`, null, laptop)).node.name
  t.same(['$HOSTNAME', 'two'].map(nodeOf), ['laptop', 'two'], 'or that of the machine, or its own')
  t.equal(named.service.mail_from, 'posthorn@z.example.net')
  t.equal(named.service.inbound_mx_host, 'mx.z.example.net')
  t.equal(named.service.public_url, 'https://mx.example.net:8443')
  for (const [listen, expected] of [
    ['["0.0.0.0:443", "[::]:8443"]', 'https://laptop'],
    ['["127.0.0.1:9443", "[::1]:443"]', 'https://laptop:9443'],
    ['["127.0.0.1:0"]', 'https://laptop'],
    ['["0.0.0.0:8443", "unix:/run/api.sock"]', 'https://laptop'],
    ['["http://127.0.0.1:8080"]', 'https://laptop'],
    ['[]', 'https://laptop'],
  ] as const) {
    t.equal(config(parseConfig(`[api]\nlisten = ${listen}`, null, laptop)).service.public_url, expected, listen)
  }
  const url = (text: string): string =>
    config(parseConfig(`[service]\npublic_url = "${text}"`, null, laptop)).service.public_url
  t.equal(url('https://Mail.example.net/'), 'https://mail.example.net')
  t.equal(url('http://127.0.0.1:8080/mail//'), 'http://127.0.0.1:8080/mail')
  t.equal(url('https://[::1]:8443'), 'https://[::1]:8443')
})

t.test('values are converted to the units that the code uses', async (t) => {
  const text = `
    [service]
    data_dir = "state"
    [tls]
    cert_file = "tls/cert.pem"
    key_file = "/keys/key.pem"
    [tls.acme]
    email = "Postmaster@Example.net"
    directory = "https://acme.test:14000/dir"
    ca_file = "tls/ca.pem"
    [api]
    listen = ["[::]:8443", "http://127.0.0.9:8080", "http://[::1]:0", "unix:run/api.sock", "unix:/run/posthorn/api.sock"]
    trusted_proxies = ["192.0.2.7", "10.0.0.0/8"]
    [submission]
    listen = ["[::1]:587", "localhost:0"]
    listen_tls = []
    max_size = "512KB"
    [[submission.trusted]]
    network = "192.168.1.0/24"
    workspace = "ws_01975b9e-5c1c-7cf4-8d1f-0b6a2f6f4a10"
    [dns]
    servers = ["192.0.2.53", "127.0.0.1:5353", "[::1]:5353", "2001:db8::53"]
    [outbound]
    allowed_private_networks = ["127.0.0.1/8", "fd00::/8", "10.0.0.1", "::1"]
    routes = { "Example.org" = "127.0.0.1:2526", "*" = "smtps://u%40x:p@relay.example.net:465", "b.test" = "smtps://[::1]:465" }
    retry_schedule = ["90s", "5m", "8h", "2d"]`
  const { service, tls, api, submission, dns, outbound } = config(
    parseConfig(text, '/etc/posthorn/posthorn.toml', laptop),
  )
  t.equal(service.data_dir, '/etc/posthorn/state', 'paths count from the folder of the file')
  t.match(tls, { cert_file: '/etc/posthorn/tls/cert.pem', key_file: '/keys/key.pem' })
  t.match(tls.acme, { email: 'Postmaster@example.net', ca_file: '/etc/posthorn/tls/ca.pem' })
  t.equal(tls.acme.directory.href, 'https://acme.test:14000/dir')
  t.same(api.listen, [
    { kind: 'tls', host: '::', port: 8443 },
    { kind: 'http', host: '127.0.0.9', port: 8080 },
    { kind: 'http', host: '::1', port: 0 },
    { kind: 'unix', path: '/etc/posthorn/run/api.sock' },
    { kind: 'unix', path: '/run/posthorn/api.sock' },
  ])
  t.same(api.trusted_proxies, networks('192.0.2.7/32', '10.0.0.0/8'))
  t.same(submission.listen, [
    { host: '::1', port: 587 },
    { host: 'localhost', port: 0 },
  ])
  t.equal(submission.max_size, 512 * 1024)
  t.equal(submission.trusted[0]?.network.text, '192.168.1.0/24')
  t.same(dns.servers, [
    { address: '192.0.2.53', port: 53 },
    { address: '127.0.0.1', port: 5353 },
    { address: '::1', port: 5353 },
    { address: '2001:db8::53', port: 53 },
  ])
  t.same(outbound.allowed_private_networks, networks('127.0.0.1/8', 'fd00::/8', '10.0.0.1/32', '::1/128'))
  t.same(outbound.routes, {
    'example.org': { host: '127.0.0.1', port: 2526, tls: 'opportunistic', auth: null },
    '*': { host: 'relay.example.net', port: 465, tls: 'implicit', auth: { user: 'u@x', pass: 'p' } },
    'b.test': { host: '::1', port: 465, tls: 'implicit', auth: null },
  })
  t.same(outbound.retry_schedule, [90_000, 5 * minute, 480 * minute, 2880 * minute])
})

t.test('plans of the file replace those of the same name and add others', async (t) => {
  const text =
    '[limits]\ndefault_plan = "Gold 1"\n[limits.plans."Gold 1"]\ncredits = 0\n[limits.plans.pro]\nburst = 7\nrequests_per_second = 7'
  const { limits } = config(parseConfig(text, null, laptop))
  t.equal(limits.default_plan, 'Gold 1')
  t.equal(limits.domain_emails_per_day, 200_000)
  t.same(limits.plans['Gold 1'], { credits: 0 })
  t.same(limits.plans['pro'], { burst: 7, requests_per_second: 7 }, 'nothing of the one before is left')
  t.same(Object.keys(limits.plans).sort(), ['Gold 1', 'free', 'high_volume', 'pro', 'scale', 'standard'])
  t.same(defaults.limits.plans, builtInPlans)
  t.equal(defaults.limits.default_plan, 'unlimited')
  for (const [written, bytes] of [
    ['"10GB"', 10 * 1024 ** 3],
    ['"500KB"', 512_000],
    ['20000', 20_000],
    ['0', 0],
  ] as const) {
    const of = config(parseConfig(`[limits.plans.pro]\ninbound_bytes = ${written}`, null, laptop)).limits.plans['pro']
    t.same(of, { inbound_bytes: bytes }, written)
  }
})

t.test('a configuration cannot be modified', async (t) => {
  const frozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen))
  t.ok(frozen(defaults))
})

t.test('all problems are reported at once, with the key, the value and what is allowed', async (t) => {
  const text = `
    colour = "blue"
    [service]
    hostnam = "a.test"
    [submission]
    max_connections = 0
    listen = ["127.0.0.1:587", "somewhere"]
    [[submission.trusted]]
    network = "10.0.0.0/8"
    [outbound]
    port = "25"
    retry_schedule = ["5m", "15m", "5 parsecs"]
    routes = { "no domain" = "mx.test:25" }
    [tls]
    key_file = "key.pem"
    [log]
    level = "loud"`
  t.same([...keys(text)].sort(), [
    'colour',
    'log.level',
    'outbound.port',
    'outbound.retry_schedule[2]',
    'outbound.routes."no domain"',
    'service.hostnam',
    'submission.listen[1]',
    'submission.max_connections',
    'submission.trusted[0].workspace',
    'tls.key_file',
  ])
  const lines = formatProblems('/etc/posthorn/posthorn.toml', problems(text)).split('\n')
  const reports = (line: string) => t.ok(lines.includes(`/etc/posthorn/posthorn.toml: ${line}`), line, { lines })
  reports('outbound.retry_schedule[2]: found "5 parsecs"; allowed: a duration such as "90s", "5m", "8h", "4d"')
  reports('outbound.port: found "25"; allowed: a whole number from 1 to 65535')
  reports('submission.trusted[0].workspace: missing; allowed: the id of a workspace, "ws_..."')
  reports('log.level: found "loud"; allowed: one of "trace", "debug", "info", "warn", "error", "fatal", "silent"')
  reports(
    'service.hostnam: found a key that is not known here; allowed: hostname, data_dir, zone, inbound_mx_host, mail_from, public_url, public_addresses',
  )
})

const wrong: readonly (readonly [toml: string, key: string])[] = [
  ['service = 3', 'service'],
  ['[[service]]', 'service'],
  ['[service]\nhostname = ""', 'service.hostname'],
  ['[service]\nhostname = "under_score.test"', 'service.hostname'],
  ['[service]\nhostname = "192.0.2.1"', 'service.hostname'],
  ['[service]\nhostname = "192.0.2.256"', 'service.hostname'],
  ['[service]\nhostname = "-a.test"', 'service.hostname'],
  ['[service]\ndata_dir = ""', 'service.data_dir'],
  ['[service]\nmail_from = "posthorn"', 'service.mail_from'],
  ['[service]\nmail_from = "a@b@c.test"', 'service.mail_from'],
  ['[service]\nmail_from = "a b@c.test"', 'service.mail_from'],
  ...[
    '',
    'mail.example.net',
    'ftp://a.test',
    'https://',
    'https://a.test?x=1',
    'https://a.test/#x',
    'https://u:p@a.test',
  ].map((url): readonly [string, string] => [`[service]\npublic_url = "${url}"`, 'service.public_url']),
  ['[api]\nlisten = ["http://0.0.0.0:8080"]', 'api.listen[0]'],
  ['[api]\nlisten = ["http://192.0.2.1:8080"]', 'api.listen[0]'],
  ['[api]\nlisten = ["http://localhost:8080"]', 'api.listen[0]'],
  ['[api]\nlisten = ["http://127.0.0.1:8080/"]', 'api.listen[0]'],
  ['[api]\nlisten = ["http://127.0.0.1"]', 'api.listen[0]'],
  ['[api]\nlisten = ["https://127.0.0.1:8443"]', 'api.listen[0]'],
  ['[api]\nlisten = ["unix:"]', 'api.listen[0]'],
  [`[api]\nlisten = ["unix:/${'x'.repeat(107)}"]`, 'api.listen[0]'],
  ['[api]\nlisten = ["/run/api.sock"]', 'api.listen[0]'],
  ['[api]\ntrusted_proxies = ["proxy.test"]', 'api.trusted_proxies[0]'],
  ['[inbound]\nproxies = ["proxy.test"]', 'inbound.proxies[0]'],
  ['[inbound]\nearly_talkers = "drop"', 'inbound.early_talkers'],
  ['[inbound]\ntarpit = "1m"', 'inbound.tarpit'],
  ['[inbound]\ndmarc = "none"', 'inbound.dmarc'],
  ['[spam]\nspam_score = 0', 'spam.spam_score'],
  ['[limits.breaker]\nbounce_hold_percent = 101', 'limits.breaker.bounce_hold_percent'],
  ['[limits.breaker]\nmin_bounces = 0', 'limits.breaker.min_bounces'],
  ['[spam]\nspam_score = 8.005', 'spam.spam_score'],
  ['[spam]\nsuspicious_score = "4"', 'spam.suspicious_score'],
  ['[spam]\nrspamd_url = "127.0.0.1:11333"', 'spam.rspamd_url'],
  ['[spam]\nrspamd_url = "ftp://rspamd.test"', 'spam.rspamd_url'],
  ['[spam]\nrspamd_url = "http://rspamd.test:99999"', 'spam.rspamd_url'],
  ['[spam]\nrspamd_url = "http://rspamd.test:0"', 'spam.rspamd_url'],
  ['[spam]\nrspamd_url = "http://rspamd.test/?a=b"', 'spam.rspamd_url'],
  ['[spam]\nrspamd_url = "http://"', 'spam.rspamd_url'],
  ['[spam]\nrspamd_url = "http://user:%zz@rspamd.test"', 'spam.rspamd_url'],
  ['[inbound]\nrefuse_listed_from = 0', 'inbound.refuse_listed_from'],
  ['[[inbound.dnsbl]]\nweight = 2', 'inbound.dnsbl[0].zone'],
  ['[[inbound.dnsbl]]\nzone = "bl.test"\nweight = 101', 'inbound.dnsbl[0].weight'],
  ['[api]\nmax_connections = 0', 'api.max_connections'],
  ['[submission]\nlisten = "127.0.0.1:587"', 'submission.listen'],
  ['[submission]\nlisten = [587]', 'submission.listen[0]'],
  ['[submission]\nlisten = ["127.0.0.1"]', 'submission.listen[0]'],
  ['[submission]\nlisten = ["127.0.0.1:65536"]', 'submission.listen[0]'],
  ['[submission]\nlisten = ["::1:587"]', 'submission.listen[0]'],
  ['[submission]\nlisten = ["[127.0.0.1]:587"]', 'submission.listen[0]'],
  ['[submission]\nallow_plaintext_loopback = "yes"', 'submission.allow_plaintext_loopback'],
  ['[submission]\nmax_connections = 1.5', 'submission.max_connections'],
  ['[submission]\nmax_size = "15 MB"', 'submission.max_size'],
  ['[submission]\nmax_size = 15', 'submission.max_size'],
  ['[submission]\nmax_size = "900GB"', 'submission.max_size'],
  ['[submission]\nsession_deadline = "2d"', 'submission.session_deadline'],
  ['[[submission.trusted]]\nnetwork = "10.0.0.0/33"\nworkspace = "ws_1"', 'submission.trusted[0].network'],
  ['[[submission.trusted]]\nnetwork = "10.0.0.0/8"\nworkspace = "acme"', 'submission.trusted[0].workspace'],
  ['[dns]\nservers = ["localhost:53"]', 'dns.servers[0]'],
  ['[dns]\nservers = ["127.0.0.1:0"]', 'dns.servers[0]'],
  ['[dns]\nnameservers = ["192.0.2.1"]', 'dns.nameservers[0]'],
  ['[dns]\nttl = "8d"', 'dns.ttl'],
  ['[dns]\ncaa = ["letsencrypt org"]', 'dns.caa[0]'],
  ...['0.0.0.0', '::', 'mail.test', 'fe80::1%eth0', '::ffff:192.0.2.1', '224.0.0.1', '192.0.2.0/24'].map(
    (address): readonly [string, string] => [
      `[service]\npublic_addresses = ["${address}"]`,
      'service.public_addresses[0]',
    ],
  ),
  ['[outbound]\nport = 0', 'outbound.port'],
  ['[outbound]\nsource_addresses = ["mail.test"]', 'outbound.source_addresses[0]'],
  ['[[outbound.sources]]\naddress = "192.0.2.1"\nhello = "not a name"', 'outbound.sources[0].hello'],
  ['[[outbound.sources]]\naddress = "192.0.2.0/24"', 'outbound.sources[0].address'],
  ['[outbound]\nwarm_up_plan = []', 'outbound.warm_up_plan'],
  ['[outbound]\nwarm_up_plan = [0]', 'outbound.warm_up_plan[0]'],
  ['[outbound]\nwarm_up_route = "http://mx.test:25"', 'outbound.warm_up_route'],
  ['[outbound]\nallowed_private_networks = ["10.0.0.0/8/8"]', 'outbound.allowed_private_networks[0]'],
  ['[outbound]\nallowed_private_networks = ["10/8"]', 'outbound.allowed_private_networks[0]'],
  ['[outbound]\nroutes = { "*" = "::1" }', 'outbound.routes."*"'],
  ['[outbound]\nroutes = { "*" = "user:pass@mx.test:25" }', 'outbound.routes."*"'],
  ['[outbound]\nroutes = { "*" = "smtps://user:100%@mx.test:25" }', 'outbound.routes."*"'],
  ['[outbound]\nroutes = { "*" = "smtps://user:%0d@mx.test:25" }', 'outbound.routes."*"'],
  ['[outbound]\nroutes = { "*" = "http://mx.test:25" }', 'outbound.routes."*"'],
  ['[outbound]\nroutes = { "*" = "mx.test:0" }', 'outbound.routes."*"'],
  ['[outbound]\nretry_schedule = []', 'outbound.retry_schedule'],
  ['[outbound]\nexpire_after = "0s"', 'outbound.expire_after'],
  ['[outbound]\nexpire_after = "1h30m"', 'outbound.expire_after'],
  ['[outbound]\nexpire_after = 1979-05-27', 'outbound.expire_after'],
  ['[retention]\nmessages = -1', 'retention.messages'],
  ['[retention]\nexports = "8d"', 'retention.exports'],
  ['[limits]\ndefault_plan = ""', 'limits.default_plan'],
  ['[limits]\ndomain_emails_per_day = 0', 'limits.domain_emails_per_day'],
  ['[limits]\nplans = ["pro"]', 'limits.plans'],
  ['[limits.plans]\npro = 5', 'limits.plans.pro'],
  ['[limits.plans.pro]\nemails = 5', 'limits.plans.pro.emails'],
  ['[limits.plans.pro]\nrequests_per_second = 0', 'limits.plans.pro.requests_per_second'],
  ['[limits.plans.pro]\ncredits = -1', 'limits.plans.pro.credits'],
  ['[limits.plans.pro]\ninbound_bytes = "10 GB"', 'limits.plans.pro.inbound_bytes'],
  ['[limits.plans.pro]\ninbound_bytes = -1', 'limits.plans.pro.inbound_bytes'],
  ['[limits.plans.pro]\ninbound_bytes = true', 'limits.plans.pro.inbound_bytes'],
  ['[limits]\ninvitations_per_day = 0', 'limits.invitations_per_day'],
  ['[limits.plans."two\\nlines"]', 'limits.plans."two\\nlines"'],
  ['[log]\nformat = nan', 'log.format'],
  ['[tls.acme]\ndirectory = "http://acme.test/dir"', 'tls.acme.directory'],
  ['[tls.acme]\ndirectory = "https://user:pass@acme.test/dir"', 'tls.acme.directory'],
  ['[tls.acme]\nemail = "postmaster"', 'tls.acme.email'],
  ['[tls.acme]\nhttp_listen = ["80"]', 'tls.acme.http_listen[0]'],
]

t.test('a value that does not fit is refused under its own key', async (t) => {
  for (const [toml, key] of wrong) t.same(keys(toml), [key], toml)
})

const contradicting: readonly (readonly [toml: string, key: string])[] = [
  [
    '[outbound]\nsource_addresses = ["192.0.2.1"]\n[[outbound.sources]]\naddress = "192.0.2.1"',
    'outbound.sources[0].address',
  ],
  [
    '[[outbound.sources]]\naddress = "2001:db8::1"\n[[outbound.sources]]\naddress = "2001:DB8::1"',
    'outbound.sources[1].address',
  ],
  ['[[outbound.sources]]\naddress = "192.0.2.1"\npool = "bulk"', 'outbound.sources'],
  ['[[outbound.pool_rules]]\npool = "default"\npriority = "low"', 'outbound.pool_rules[0].pool'],
  [
    '[outbound]\nsource_addresses = ["192.0.2.1"]\n[[outbound.pool_rules]]\npool = "bulk"\npriority = "low"',
    'outbound.pool_rules[0].pool',
  ],
  ['[outbound]\nsource_addresses = ["192.0.2.1"]\n[[outbound.pool_rules]]\npool = "default"', 'outbound.pool_rules[0]'],
  ['[outbound]\nwarm_up_plan = [50, 100, 80]', 'outbound.warm_up_plan[2]'],
  [`[service]\nzone = "${'a.'.repeat(122)}test"`, 'service.zone'],
  ['[tls]\ncert_file = "c.pem"', 'tls.cert_file'],
  ['[tls]\nkey_file = "k.pem"', 'tls.key_file'],
  ['[tls]\ncert_file = "c.pem"\nkey_file = "k.pem"\n[tls.acme]\nenabled = true', 'tls.acme.enabled'],
  ['[tls.acme]\nenabled = true\nhttp_listen = []\n[api]\nlisten = ["unix:/run/a"]', 'tls.acme.enabled'],
  ['[tls.acme]\nenabled = true\nhttp_listen = ["127.0.0.1:8443"]', 'tls.acme.http_listen[0]'],
  ['[storage]\nurl = "postgres://db.test/mail"\n[standby]\nfolder = "/srv/standby"', 'standby.folder'],
  ['[outbound]\nexpire_after = "1h"\nretry_schedule = ["5m", "1h"]', 'outbound.retry_schedule[1]'],
  ['[ui]\nsession_idle = "2d"\nsession_max = "1d"', 'ui.session_idle'],
  ['[outbound]\nexpire_after = "1h"\ndelay_notice_after = "60m"', 'outbound.delay_notice_after'],
  ['[api]\nlisten = ["127.0.0.1:443", "http://127.0.0.1:443"]', 'api.listen[1]'],
  ['[api]\nlisten = ["unix:/run/a", "unix:/run/a"]', 'api.listen[1]'],
  ['[api]\nlisten = ["127.0.0.1:1465"]', 'submission.listen_tls[0]'],
  ['[api]\ntrusted_proxies = ["10.0.0.0/8", "::/0"]', 'api.trusted_proxies[1]'],
  ['[submission]\nlisten = ["127.0.0.1:8443"]', 'submission.listen[0]'],
  ['[inbound]\nlisten = ["127.0.0.1:1587"]', 'inbound.listen[0]'],
  ['[inbound]\nproxies = ["0.0.0.0/0"]', 'inbound.proxies[0]'],
  ['[dns]\nzone_listen = ["127.0.0.1:53"]', 'dns.zone_listen'],
  ['[dns]\nzone_listen = ["127.0.0.1:2525"]\nnameservers = ["ns.test"]', 'dns.zone_listen[0]'],
  ['[metrics]\nlisten = ["127.0.0.1:8443"]', 'metrics.listen[0]'],
  ['[dns]\nsecondaries = ["192.0.2.1"]', 'dns.secondaries'],
  ['[dns]\nnotify = ["192.0.2.1"]', 'dns.notify'],
  ['[dns]\nzone_listen = ["127.0.0.1:53"]\nnameservers = ["ns.test"]\nsecondaries = ["::/0"]', 'dns.secondaries[0]'],
  ['[spam]\nsuspicious_score = 9', 'spam.suspicious_score'],
  ['[spam]\nspam_score = 3.5', 'spam.spam_score'],
  ['[spam]\nsuspicious_score = 7\nspam_score = 6', 'spam.suspicious_score'],
  ['[limits.breaker]\nbounce_warn_percent = 10.01', 'limits.breaker.bounce_hold_percent'],
  ['[limits.breaker]\ncomplaint_hold_percent = 0.05', 'limits.breaker.complaint_hold_percent'],
  ['[[inbound.dnsbl]]\nzone = "bl.test"\n[[inbound.dnsbl]]\nzone = "BL.test"', 'inbound.dnsbl[1].zone'],
  ['[[inbound.dnswl]]\nzone = "wl.test"\n[[inbound.dnswl]]\nzone = "WL.test"', 'inbound.dnswl[1].zone'],
  ['[inbound.greylisting]\ndelay = "10m"\nretry_window = "10m"', 'inbound.greylisting.retry_window'],
  ['[inbound.greylisting]\nremember = "1m"', 'inbound.greylisting.remember'],
  ['[submission]\nlisten_tls = ["127.0.0.1:1587"]', 'submission.listen_tls[0]'],
  ['[sms]\nprovider = "http"', 'sms.http.url'],
  ['[sms]\nprovider = "smpp"\n[sms.smpp]\nurl = "smpp://127.0.0.1"', 'sms.smpp.system_id'],
  ['[sms]\nprovider = "smpp"\n[sms.smpp]\nsystem_id = "posthorn"', 'sms.smpp.url'],
  [`[sms]\nprovider = "log"\nsender = "MG${'0a'.repeat(16)}"`, 'sms.sender'],
  [
    `[sms]\nprovider = "http"\nsender = "MG${'0a'.repeat(16)}"\n[sms.http]\nurl = "https://sms.test/"\nstyle = "template"`,
    'sms.sender',
  ],
  ['[sms.http]\nstyle = "template"\nbody_template = \'{"to":"{to}"}\'', 'sms.http.body_template'],
  ['[sms.http]\nstyle = "template"\nbody_template = "text={text}"', 'sms.http.body_template'],
  ['[sms.http]\nstyle = "template"\nbody_template = \'{"to":{to},"text":"{text}"}\'', 'sms.http.body_template'],
  ['[sms.http]\nstyle = "template"\nbody_template = \'["{to}","{text}"\'', 'sms.http.body_template'],
  ['[limits]\ndefault_plan = "gold"', 'limits.default_plan'],
  ['[limits]\ndefault_plan = "toString"', 'limits.default_plan'],
  ['[limits.plans.unlimited]', 'limits.plans.unlimited'],
  ['[limits.plans."a b"]\nburst = 5', 'limits.plans."a b".burst'],
  ['[limits.plans.pro]\nrequests_per_second = 10\nburst = 9', 'limits.plans.pro.burst'],
  ['[submission]\nlisten = ["[::1]:25", "[::1]:25"]', 'submission.listen[1]'],
  ['[[submission.trusted]]\nnetwork = "0.0.0.0/0"\nworkspace = "ws_1"', 'submission.trusted[0].network'],
  [
    '[[submission.trusted]]\nnetwork = "::1"\nworkspace = "ws_1"\n[[submission.trusted]]\nnetwork = "::1/128"\nworkspace = "ws_2"',
    'submission.trusted[1].network',
  ],
]

t.test('contradicting settings are refused', async (t) => {
  for (const [toml, key] of contradicting) t.same(keys(toml), [key], toml)
  t.same(keys('[outbound]\nexpire_after = "10s"'), [], 'a default contradicts no setting')
  t.match(problems('[storage]\nurl = "postgres://db.test/mail"\n[standby]\nfolder = "/srv/standby"'), [
    { message: /^found "\/srv\/standby", and storage\.url is set; allowed: one of them: the tools of PostgreSQL/ },
  ])
  t.same(keys('[storage]\nurl = "postgres://db.test/mail"\n[standby]\nkeep = 3'), [])
  t.same(keys('[ui]\nsession_max = "1h"'), [])
  t.same(keys('[dns]\nnameservers = ["ns.test"]'), [], 'name servers of a third party, for the zone that is printed')
  t.same(
    keys('[submission]\nlisten = ["127.0.0.1:0"]\nlisten_tls = ["127.0.0.1:0"]'),
    [],
    'free ports are never shared',
  )
})

t.test('a provider of SMS with all that it needs is accepted', async (t) => {
  const http = '[sms]\nprovider = "http"\n[sms.http]\nurl = "https://sms.test/"'
  const sid = `MG${'0a'.repeat(16)}`
  const templates = [
    'to={to}&text={text}',
    '<sms><to>{to}</to><text>{text}</text></sms>',
    ' [{"a":"{to} {id}","b":"{text}"}]',
  ]
  for (const toml of [
    http,
    http.replace('"http"', `"http"\nsender = "${sid}"`),
    `[sms]\nsender = "${sid}"`,
    '[sms]\nprovider = "smpp"\n[sms.smpp]\nurl = "smpps://[::1]:3550"\nsystem_id = "posthorn"',
    '[sms]\nprovider = "log"\nallowed_countries = ["de", "GB"]',
    ...templates.map((template) => `${http}\nstyle = "template"\nbody_template = '${template}'`),
  ]) {
    t.same(keys(toml), [], toml)
  }
})

t.test('settings of SMS that are not valid are refused', async (t) => {
  const refused: readonly (readonly [toml: string, key: string])[] = [
    ['[sms]\nprovider = "twilio"', 'sms.provider'],
    ['[sms]\nsender = "A name that is too long"', 'sms.sender'],
    ['[sms]\nsender = "12"', 'sms.sender'],
    ['[sms]\nallowed_countries = ["XX"]', 'sms.allowed_countries[0]'],
    ['[sms]\nallowed_countries = ["DE", "Germany"]', 'sms.allowed_countries[1]'],
    ['[sms.limits]\nmin_verified_percent = 101', 'sms.limits.min_verified_percent'],
    ['[sms.limits]\nper_phone_per_hour = 0', 'sms.limits.per_phone_per_hour'],
    ['[sms.http]\nstyle = "soap"', 'sms.http.style'],
    ['[sms.http]\nurl = "ftp://sms.test/"', 'sms.http.url'],
    ['[sms.smpp]\nurl = "smpp://sms.test:0"', 'sms.smpp.url'],
    ['[sms.smpp]\nurl = "smpp://sms.test:65536"', 'sms.smpp.url'],
    ['[sms.smpp]\nurl = "http://sms.test:2775"', 'sms.smpp.url'],
    ['[sms.smpp]\nsystem_id = "a\\u0000b"', 'sms.smpp.system_id'],
  ]
  for (const [toml, key] of refused) t.same(keys(toml), [key], toml)
})

t.test('a faulty value of a setting that is needed is one problem', async (t) => {
  t.same(keys('[sms]\nprovider = "http"\n[sms.http]\nurl = "ftp://sms.test/"'), ['sms.http.url'])
  const smpp = '[sms]\nprovider = "smpp"\n[sms.smpp]\nurl = "sms.test:2775"'
  t.same(keys(`${smpp}\nsystem_id = "a"`), ['sms.smpp.url'])
  t.same(keys(smpp), ['sms.smpp.url', 'sms.smpp.system_id'], 'another key that is needed is a problem of its own')
})

t.test('a URL of a message centre has a host, a port and TLS or not', async (t) => {
  const urlOf = (url: string) => config(parseConfig(`[sms.smpp]\nurl = "${url}"`, null, laptop)).sms.smpp.url
  t.same(urlOf('smpp://sms.test'), { host: 'sms.test', port: 2775, secure: false })
  t.same(urlOf('SMPPS://Sms.Test/'), { host: 'sms.test', port: 3550, secure: true })
  t.same(urlOf('smpp://[::1]:65535'), { host: '::1', port: 65_535, secure: false })
  t.same(urlOf('smpp://127.0.0.1:1'), { host: '127.0.0.1', port: 1, secure: false })
  t.equal(urlOf(''), null)
})

t.test('a password in a route or a URL appears in no message', async (t) => {
  const texts = [
    '[outbound]\nroutes = { "*" = "smtps://user:hunter2@@mx.test:465" }',
    '[spam]\nrspamd_url = "http://user:hunter2@rspamd.test/?a"',
    '[outbound]\nroute = { "*" = "smtps://user:hunter2@mx.test:465" }',
    '[outbound]\nroutes = { "*" = "smtps://user:hunter2@mx.test:465" ',
    '[sms.http]\npassword = "hunter2\\n"',
    '[sms.smpp]\nurl = "smpp://user:hunter2@sms.test"',
    `[sms.http]\nstyle = "template"\nbody_template = '{"key":"hunter2","to":"{to}","text":"{text}"'`,
  ]
  for (const text of texts) {
    const found = problems(text)
    t.equal(found.length, 1)
    t.notMatch(JSON.stringify(found), /hunter2/, text)
  }
})

t.test('a file that is not TOML is refused with line and column', async (t) => {
  t.same(problems('[service]\nhostname = = "a"'), [
    { key: '', message: 'line 2, column 12: Invalid TOML document: invalid value' },
  ])
  t.match(problems('[log]\nlevel = "info"\nlevel = "warn"')[0]?.message, /^line 3, column \d+: /)
  for (const value of ['mail.example.net', 'info', '/var/lib', '5m', '192.0.2.1', 'you@a.test']) {
    t.match(problems(`[service]\nhostname = ${value}`)[0]?.message, /^line \d+, .*; text needs quotes$/, value)
  }
  for (const line of ['hostname = = "a"', 'hostname = true x', 'host name = "a"', 'hostname = "a']) {
    t.notMatch(problems(`[service]\n${line}`)[0]?.message, /quotes/, line)
  }
})

t.test("the file is that of --config, else of POSTHORN_CONFIG, else the system's, else none", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-config-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = (name: string): string => {
    writeFileSync(join(folder, name), `[service]\nhostname = "${name}"`)
    return join(folder, name)
  }
  const [option, variable, system] = [file('option.test'), file('variable.test'), file('system.test')]
  const absent = join(folder, 'absent.toml')
  const env = { POSTHORN_CONFIG: variable, HOME: '/home/ann' }
  const name = (loaded: LoadedConfig) => config(loaded).service.hostname
  t.equal(name(loadConfig({ file: option, env, systemFile: system })), 'option.test')
  t.equal(name(loadConfig({ file: null, env, systemFile: system })), 'variable.test')
  t.equal(name(loadConfig({ file: null, env: { POSTHORN_CONFIG: '' }, systemFile: system })), 'system.test')
  t.equal(loadConfig({ file: null, env: {}, systemFile: absent }).file, null)
  for (const unreadable of [absent, folder]) {
    t.match(loadConfig({ file: unreadable, env }), {
      kind: 'problems',
      file: unreadable,
      problems: [{ key: '', message: /^cannot be read: / }],
    })
  }
  const loop = join(folder, 'loop.toml')
  symlinkSync(loop, loop)
  for (const systemFile of [folder, loop]) {
    t.match(loadConfig({ file: null, env: {}, systemFile }), { kind: 'problems' }, 'never silently defaults')
  }
})

t.test('any file gives a configuration or a list of problems', async (t) => {
  const value = fc.oneof(
    fc.constantFrom('5m', '15MB', '127.0.0.1:25', '10.0.0.0/8', 'a.test', 'ws_1', '', 'smtps://u:p@h.test:465'),
    fc.integer({ min: -5, max: 70_000 }),
    fc.boolean(),
    fc.string({ unit: 'grapheme' }),
  )
  const anything = fc.oneof(value, fc.array(value, { maxLength: 3 }), fc.dictionary(fc.string(), value, { maxKeys: 3 }))
  const sections = Object.entries(settings.shape).map(([name, schema]) => {
    const known = Object.keys(schema.unwrap().shape).map((key) => [key, anything] as const)
    const keys = fc.record(Object.fromEntries([...known, ['strange', anything] as const]), { requiredKeys: [] })
    return [name, fc.oneof({ weight: 9, arbitrary: keys }, { weight: 1, arbitrary: anything })] as const
  })
  fc.assert(
    fc.property(fc.record(Object.fromEntries(sections), { requiredKeys: [] }), (file) => {
      const loaded = parseConfig(stringify(file), null, laptop)
      return loaded.kind === 'config' || loaded.problems.length > 0
    }),
    { numRuns: 300 },
  )
  t.pass()
})
