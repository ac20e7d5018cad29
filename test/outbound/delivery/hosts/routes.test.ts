import fc from 'fast-check'
import t from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import { parseRoute } from '../../../../src/base/mail/route.js'
import { Routes } from '../../../../src/outbound/delivery/hosts/routes.js'
import { routes } from '../../../helpers/config-values.js'

t.test('routes are read in every form', async (t) => {
  const plain = { tls: 'opportunistic', auth: null }
  const login = { user: 'u', pass: 'p' }
  const forms = {
    'mx.test:2525': { host: 'mx.test', port: 2525, ...plain },
    'MX.test.:25': { host: 'mx.test', port: 25, ...plain },
    localhost: { host: 'localhost', port: 25, ...plain },
    '192.0.2.1:26': { host: '192.0.2.1', port: 26, ...plain },
    '[::1]:2525': { host: '::1', port: 2525, ...plain },
    '[2001:DB8::1]': { host: '2001:db8::1', port: 25, ...plain },
    'smtp://mx.test': { host: 'mx.test', port: 25, ...plain },
    'smtp://u:p@mx.test:587': { host: 'mx.test', port: 587, tls: 'opportunistic', auth: login },
    'smtps://u:p@mx.test/': { host: 'mx.test', port: 465, tls: 'implicit', auth: login },
    'SMTPS://u:p@[::1]:1465': { host: '::1', port: 1465, tls: 'implicit', auth: login },
    'smtps://a%40b.test:p%3A%2Fw:x@mx.test:465': {
      host: 'mx.test',
      port: 465,
      tls: 'implicit',
      auth: { user: 'a@b.test', pass: 'p:/w:x' },
    },
  }
  for (const [text, route] of Object.entries(forms)) t.strictSame(parseRoute(text), { kind: 'route', route }, text)
})

t.test('a malformed route is named by its problem, without its password', async (t) => {
  const forms = {
    '': /a route is/,
    'smtps://': /a route is/,
    'http://mx.test': /scheme/,
    'mx.test:0': /port/,
    'mx.test:70000': /port/,
    'mx.test:': /port/,
    'mx.test:25x': /port/,
    'mx.test:25:26': /port/,
    '::1': /host/,
    '[mx.test]:25': /host/,
    '1.2.3:25': /host/,
    'mx test:25': /host/,
    'u:secret@mx.test': /needs smtp/,
    'smtps://u@mx.test': /login/,
    'smtps://:secret@mx.test': /login/,
    'smtps://u:@mx.test': /login/,
    'smtps://u:secret%@mx.test': /login/,
    'smtps://u:secret%0D%0A@mx.test': /login/,
    'smtps://u:secret@mx.test/path': /a route is/,
  }
  for (const [text, problem] of Object.entries(forms)) {
    const parsed = parseRoute(text)
    t.match(parsed, { kind: 'problem', problem }, text)
    t.notMatch(JSON.stringify(parsed), /secret/, text)
  }
})

t.test('whatever is read as a route can be dialled', async () => {
  const text = fc.oneof(
    fc.string(),
    fc
      .array(fc.constantFrom('smtps://', 'smtp://', 'u', ':', 'p', '@', '[', '::1', ']', 'mx.test', '25', '/', '%40'), {
        maxLength: 10,
      })
      .map((parts) => parts.join('')),
  )
  const property = fc.property(text, (given) => {
    const parsed = parseRoute(given)
    if (parsed.kind === 'problem') return parsed.problem.length > 0
    const { host, port } = parsed.route
    return host !== '' && !/[\s@/[\]]/.test(host) && port >= 1 && port <= 65_535
  })
  fc.assert(property)
})

t.test('an exact route is final, the star is a smarthost', async (t) => {
  const known = new Routes(routes({ '*': 'smtps://u:p@relay.test', 'b.test': '127.0.0.1:2525' }))
  t.match(known.find(parseDomainName('b.test')), { final: true, route: { host: '127.0.0.1', port: 2525 } })
  t.match(known.find(parseDomainName('sub.b.test')), { final: false, route: { host: 'relay.test', port: 465 } })
  t.equal(new Routes(routes({ 'b.test': 'mx.test:25' })).find(parseDomainName('c.test')), null)
})
