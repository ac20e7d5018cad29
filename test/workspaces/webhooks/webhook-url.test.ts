/** URLs of webhooks: each rule at its edge, every spelling of an address, and any text at all. */
import fc from 'fast-check'
import t from 'tap'
import { createAddressGuard } from '../../../src/base/platform/address-guard.js'
import { literalAddressOf } from '../../../src/base/platform/http/host-addresses.js'
import { type Network, parseNetwork } from '../../../src/base/platform/ip-address.js'
import { checkWebhookUrl, MAX_URL_LENGTH, UrlCheck } from '../../../src/workspaces/webhooks/webhook-url.js'
import { catchRefusal } from '../../helpers/catch-refusal.js'

const mayConnect = createAddressGuard([])
const base = 'https://a.test/'
const longest = base + 'x'.repeat(MAX_URL_LENGTH - base.length)

t.test('what is accepted', async (t) => {
  for (const url of [
    'https://a.test/',
    'http://a.test',
    'HTTPS://A.TEST/Path?token=1&b=%20',
    'https://a.test:443/',
    'http://a.test:80/',
    'https://a.test:80/',
    'https://a.test:1024/',
    'https://a.test:65535/',
    'https://grüße.test/straße',
    'https://a.test./',
    'https://8.8.8.8/',
    'https://user:p%40ss@a.test/',
    'https://[2001:4860:4860::8888]/',
    longest,
  ]) {
    t.equal(checkWebhookUrl(url, mayConnect).href, new URL(url).href, url.slice(0, 60))
  }
})

const refused: readonly (readonly [RegExp, readonly string[]])[] = [
  [/must have at most 2048 characters/, [`${longest}x`]],
  [
    /must begin with https:\/\/ or http:\/\/ and a host/,
    [
      '',
      'a.test',
      '//a.test/',
      'ftp://a.test/',
      'https:a.test',
      'https:/a.test',
      'https:///a.test',
      'https://?a',
      ' https://a',
    ],
  ],
  [
    /is not a valid URL/,
    ['https://a b.test/', 'https://a.test/\n', 'https://a.test:65536/', 'https://a\\@b/', 'https://[::1/'],
  ],
  [/must have no fragment/, ['https://a.test/#', 'https://a.test/?a#b']],
  [
    /must have the port 80, 443/,
    ['https://a.test:1023/', 'http://a.test:25/', 'https://a.test:0/', 'https://a.test:79/'],
  ],
  [
    /must lead to a public address/,
    [
      ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0x7f.1', '１２７.0.0.1'].map(
        (host) => `http://${host}/`,
      ),
      ...['10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '0.0.0.0', '224.0.0.1', '255.255.255.255'].map(
        (host) => `https://${host}/`,
      ),
      ...['169.254.169.254', '168.63.129.16', '192.0.2.1'].map((host) => `http://${host}/latest/meta-data`),
      ...['::1', '::', 'fe80::1', 'fd00::1', 'ff02::1', '::ffff:8.8.8.8', '::ffff:7f00:1'].map(
        (host) => `https://[${host}]/`,
      ),
      ...['64:ff9b::8.8.8.8', '2002:7f00:1::', '2001:0:1::', '2001:db8::1', '::8.8.8.8'].map(
        (host) => `https://[${host}]/`,
      ),
    ],
  ],
]

t.test('what is refused, and why', async (t) => {
  for (const [message, urls] of refused) {
    for (const url of urls) {
      const refusal = await catchRefusal(() => checkWebhookUrl(url, mayConnect))
      t.match(refusal, { kind: 'invalid-parameter', details: { field: 'url' } }, url.slice(0, 60))
      t.match(refusal.message, message, url.slice(0, 60))
    }
  }
})

t.test('whatever the text is: a refusal, or a URL without a private address', async (t) => {
  const part = fc.constantFrom(
    'a.test',
    '8.8.8.8',
    '/path',
    'https://',
    'http:',
    '//',
    '127.0.0.1',
    '[::1]',
    '@',
    ':',
    '80',
    '#',
    '.',
    '0x7f',
    '\\',
    '%31',
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fc.oneof(part, fc.string())).map((parts) => parts.join('')),
  )
  let refusals = 0
  fc.assert(
    fc.property(texts, fc.boolean(), (text, whole) => {
      let url: URL
      try {
        url = checkWebhookUrl(whole ? text : `https://${text}`, mayConnect)
      } catch (error) {
        refusals += 1
        return (error as { readonly kind?: string }).kind === 'invalid-parameter'
      }
      const address = literalAddressOf(url)
      return /^https?:$/.test(url.protocol) && (address === null || mayConnect(address))
    }),
  )
  t.ok(refusals > 50, `${refusals} are refused`)
})

t.test('an address as host is accepted exactly if it may be dialled', async (t) => {
  const host = fc.oneof(
    fc.ipV4().map((address) => ({ host: address, address })),
    fc.ipV6().map((address) => ({ host: `[${address}]`, address })),
  )
  const counts = { accepted: 0, refused: 0 }
  fc.assert(
    fc.property(host, fc.constantFrom('', ':80', ':443', ':8080'), ({ host, address }, port) => {
      let isAccepted = true
      try {
        checkWebhookUrl(`https://${host}${port}/`, mayConnect)
      } catch {
        isAccepted = false
      }
      counts[isAccepted ? 'accepted' : 'refused'] += 1
      return isAccepted === mayConnect(address)
    }),
  )
  t.ok(counts.accepted > 100 && counts.refused > 100, JSON.stringify(counts))
})

t.test('a name is judged by what it resolves to now', async (t) => {
  const allowed = [parseNetwork('10.0.0.0/8')].filter((network): network is Network => network !== null)
  const answers = {
    'inside.test': { kind: 'records', records: ['10.1.2.3'] },
    'outside.test': { kind: 'records', records: ['8.8.8.8'] },
    'mixed.test': { kind: 'records', records: ['fd00::1', '8.8.8.8'] },
    'mapped.test': { kind: 'records', records: ['::ffff:10.1.2.3'] },
    'nowhere.test': { kind: 'no-domain' },
    'silent.test': { kind: 'failure', detail: 'TIMEOUT' },
  } as const
  const resolveAddresses: ConstructorParameters<typeof UrlCheck>[0]['resolveAddresses'] = async (name) =>
    answers[name as keyof typeof answers] as Awaited<ReturnType<typeof resolveAddresses>>
  const judge = (name: string, networks: readonly Network[]): Promise<unknown> =>
    new UrlCheck({ mayConnect: createAddressGuard(networks), resolveAddresses }).check(`https://${name}/`, 'ws_1').then(
      () => 'accepted',
      (error: Error) => error.message,
    )
  for (const [name, expected] of Object.entries({
    'inside.test': 'url: must lead to a public address, or to a network of webhooks.allowed_private_networks',
    'outside.test': 'accepted',
    'mixed.test': 'accepted',
    'mapped.test': 'url: must lead to a public address, or to a network of webhooks.allowed_private_networks',
    'nowhere.test': 'accepted',
    'silent.test': 'accepted',
  })) {
    t.equal(await judge(name, []), expected, name)
  }
  t.equal(await judge('inside.test', allowed), 'accepted', 'the operator allows that network')
})

t.test('a workspace has four look-ups under way at most, and beyond them none is made', async (t) => {
  const endings: (() => void)[] = []
  const urls = new UrlCheck({
    mayConnect,
    resolveAddresses: () =>
      new Promise((resolve) => endings.push(() => resolve({ kind: 'records', records: ['10.0.0.1'] }))),
  })
  const refused = Array.from({ length: 4 }, () => urls.check(base, 'ws_1').catch((error: Error) => error.message))
  t.match(await urls.check(base, 'ws_1'), { href: base }, 'the attempts judge its addresses')
  await t.rejects(urls.check('http://10.0.0.1/', 'ws_1'), /public address/, 'what needs no DNS is judged at once')
  t.equal(endings.length, 4)
  refused.push(urls.check(base, 'ws_2').catch((error: Error) => error.message))
  t.equal(endings.length, 5, 'other workspaces are judged')
  for (const end of endings) end()
  t.same(
    new Set(await Promise.all(refused)),
    new Set(['url: must lead to a public address, or to a network of webhooks.allowed_private_networks']),
  )
  const again = urls.check(base, 'ws_1')
  endings.at(-1)?.()
  await t.rejects(again, /public address/)
})
