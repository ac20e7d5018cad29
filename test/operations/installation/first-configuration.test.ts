/** The first configuration, made of the shipped template. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { type FirstSettings, renderConfiguration } from '../../../src/operations/installation/first-configuration.js'

const template = readFileSync('config/production.toml', 'utf8')
const machine = { hostname: 'debian', home: '/root', isRoot: true, stateHome: undefined }
const settings: FirstSettings = {
  hostname: 'mail.example.net',
  publicAddresses: ['93.184.216.34'],
  hasIpv6: false,
  docs: 'docs',
  reference: '/usr/lib/posthorn/config/posthorn.toml',
}
const heading = [
  '# Written at the installation. After a change: posthorn check, then systemctl reload posthorn.',
  '# /usr/lib/posthorn/config/posthorn.toml describes every setting. Settings that are not in this file have their default.',
]

function render(changes: Partial<FirstSettings>, text = template) {
  return renderConfiguration(text, { ...settings, ...changes }, '/etc/posthorn/posthorn.toml', machine)
}

t.test('name and addresses are set, the rest is as shipped', async (t) => {
  const { text, config } = render({})
  t.match(config.service, { hostname: 'mail.example.net', public_addresses: ['93.184.216.34'] })
  const changed = text.split('\n').filter((line) => !template.split('\n').includes(line))
  t.same(changed, [...heading, 'hostname = "mail.example.net"', 'public_addresses = ["93.184.216.34"]'])
})

t.test('with IPv6 each listener has both', async (t) => {
  const { config } = render({ hasIpv6: true })
  t.same(config.inbound.listen, [
    { host: '0.0.0.0', port: 25 },
    { host: '::', port: 25 },
  ])
  t.equal(config.submission.listen.length, 2)
  t.equal(config.submission.listen_tls.length, 2)
  t.equal(config.api.listen.length, 2)
})

t.test('what is not known stays a comment', async (t) => {
  const { text } = render({ hostname: null, publicAddresses: [] })
  t.equal(text, `${heading.join('\n')}\n${template.split('\n').slice(3).join('\n')}`)
})

t.test('comments name the pages where they are installed', async (t) => {
  const { text } = render({ docs: '/usr/share/doc/posthorn/docs' })
  t.match(text, /\(\/usr\/share\/doc\/posthorn\/docs\/certificates\.md\)/)
})

t.test('a template without the line is refused', async (t) => {
  t.throws(() => render({}, '[service]\n'), /no line "# config\/posthorn\.toml describes/)
  t.throws(() => render({}, '# config/posthorn.toml describes all.\n[service]\n'), /no line "# hostname/)
})

t.test('a result that is no configuration is refused', async (t) => {
  t.throws(() => render({}, `${template}\n[nonsense]\n`), /nonsense/)
})
