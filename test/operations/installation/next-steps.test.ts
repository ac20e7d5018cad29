/** What is left to do after an installation. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { renderConfiguration } from '../../../src/operations/installation/first-configuration.js'
import type { MachineNames } from '../../../src/operations/installation/machine-names.js'
import { formatNextSteps } from '../../../src/operations/installation/next-steps.js'

const names: MachineNames = {
  hostname: 'mail.example.net',
  hostnameAddresses: ['93.184.216.34'],
  addresses: [{ address: '93.184.216.34', reverse: [{ name: 'old.example.net', confirmed: true }] }],
  behindNat: false,
  hasIpv6: false,
  domain: 'example.net',
  exchanges: ['mx.example.org'],
  unanswered: false,
}
const file = '/etc/posthorn/posthorn.toml'

function steps(
  hostname: string | null,
  changes: Partial<MachineNames> = {},
  portsInUse: readonly number[] = [],
): string {
  const machine = { hostname: hostname ?? 'debian', home: '/root', isRoot: true, stateHome: undefined }
  const settings = { hostname, publicAddresses: [], hasIpv6: false, docs: 'docs', reference: 'posthorn.toml' }
  const { config } = renderConfiguration(readFileSync('config/production.toml', 'utf8'), settings, file, machine)
  const installed = {
    file,
    config,
    names: { ...names, ...changes },
    hostname,
    portsInUse,
    docs: '/usr/share/doc/posthorn/docs',
    program: 'posthorn',
  }
  return formatNextSteps(installed).join('\n')
}

t.test('it says what DNS has and what it lacks', async (t) => {
  const text = steps('mail.example.net')
  t.match(text, /^ {5}mail\.example\.net\. A 93\.184\.216\.34 \(is there\)$/m)
  t.match(text, /PTR of 93\.184\.216\.34: mail\.example\.net, set at the hosting provider \(now: old\.example\.net\)/)
  t.match(text, /mail for example\.net arrives at mx\.example\.org/)
  const done = steps('mail.example.net', {
    addresses: [{ address: '2001:470::5', reverse: [{ name: 'mail.example.net', confirmed: true }] }],
    exchanges: ['mail.example.net'],
  })
  t.match(done, /mail\.example\.net\. AAAA 2001:470::5 \(is there\)/)
  t.match(done, /PTR of 2001:470::5: mail\.example\.net \(is there\)/)
  t.notMatch(done, /arrives at/)
})

t.test('it names ports, the certificate, the start, and the setup', async (t) => {
  const text = steps('mail.example.net')
  t.match(text, /in, from the Internet: port 25, 8443/)
  t.match(text, /in, from your applications: port 587, 465, 8443/)
  t.match(
    text,
    /Certificate from .*\(\/usr\/share\/doc\/posthorn\/docs\/certificates\.md\).*\n {5}in \/etc\/posthorn\/posthorn\.toml, remove "# " before \[tls\.acme\], enabled and email.*\n {5}firewall: in, from the Internet: port 80/,
  )
  t.match(text, /systemctl enable --now posthorn/)
  t.match(
    text,
    /posthorn setup --workspace Main --email YOUR_ADDRESS --domain example\.net --wait\n {5}YOUR_ADDRESS: a mailbox that you read now/,
  )
  t.match(text, /^\/usr\/share\/doc\/posthorn\/docs\/install\.md describes each step\.$/m)
  t.equal(text.match(/^\d\. /gm)?.length, 5)
  t.notMatch(text, /another program/)
})

t.test('without a name the first step is to set one', async (t) => {
  const text = steps(null, { hostname: null, addresses: [], domain: null, exchanges: [] })
  t.match(
    text,
    /^1\. Set hostname under \[service\] in \/etc\/posthorn\/posthorn\.toml.*\n {5}"posthorn check", .* refuse "debian"/m,
  )
  t.match(text, /^ {5}mail\.example\.net\. A 192\.0\.2\.1$/m)
})

t.test('it names ports that are taken, and says when DNS was silent', async (t) => {
  const text = steps('mail.example.net', { unanswered: true }, [25])
  t.match(text, /another program listens on port 25, probably another mail server/)
  t.match(text, /ss -ltnp 'sport = :25'/)
  t.match(text, /DNS did not answer every question/)
  t.notMatch(steps('mail.example.net', {}, [8443]), /another mail server/)
})

t.test('docs/install.md shows what the package prints', async (t) => {
  const page = readFileSync('docs/install.md', 'utf8')
  const shown = /^Left to do:\n[\s\S]*?(?=\n```$)/m.exec(page)?.[0]
  const changes: Partial<MachineNames> = {
    hostname: 'mail.example.test',
    addresses: [{ address: '93.184.216.34', reverse: [{ name: 'mail.example.test', confirmed: true }] }],
    domain: 'example.test',
    exchanges: ['mx.old-host.test'],
  }
  t.equal(shown, steps('mail.example.test', changes))
})
