/** Small modules of the pipeline: client address and scheme, origin, paths. */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { isInSomeNetwork } from '../../../../../src/base/platform/ip-address.js'
import { type Place, placeOf } from '../../../../../src/servers/api/http/context/place.js'
import {
  findClientAddress,
  findClientScheme,
  isForeignOrigin,
  type Peer,
} from '../../../../../src/servers/api/http/context/request-source.js'
import { networks } from '../../../../helpers/config-values.js'

t.test('the client address, directly and behind proxies', async (t) => {
  const proxies = networks('10.0.0.0/8', '2001:db8:a::/48')
  const isProxy = (address: string): boolean => isInSomeNetwork(proxies, address)
  const peer: Peer = { address: '10.0.0.1', trusted: true, tls: true }
  const rows: readonly (readonly [forwarded: string | undefined, address: string])[] = [
    [undefined, '10.0.0.1'],
    ['', '10.0.0.1'],
    ['203.0.113.7', '203.0.113.7'],
    ['198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['198.51.100.1, 203.0.113.7, 10.9.9.9', '203.0.113.7'],
    ['198.51.100.1,203.0.113.7 ,2001:db8:a::1,10.9.9.9', '203.0.113.7'],
    ['10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['203.0.113.7:4711', '203.0.113.7'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%eth0]:4711', 'fe80::1'],
    ['%eth0', '10.0.0.1'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['203.0.113.7, unknown', '10.0.0.1'],
    ['203.0.113.7, unknown, 10.2.2.2', '10.2.2.2'],
    ['203.0.113.7,,', '10.0.0.1'],
    ['1', '10.0.0.1'],
    ['0x7f000001', '10.0.0.1'],
    ['203.0.113.256', '10.0.0.1'],
    ['localhost', '10.0.0.1'],
  ]
  for (const [forwarded, address] of rows) {
    t.equal(findClientAddress(peer, forwarded, isProxy), address, String(forwarded))
    t.equal(
      findClientAddress({ ...peer, trusted: false }, forwarded, isProxy),
      '10.0.0.1',
      'the field of an untrusted client is ignored',
    )
  }
  const entry = fc.oneof(
    fc.constantFrom('203.0.113.7', '10.1.1.1', '[::1]:5', 'x', ' '),
    fc.string({ unit: 'binary' }),
    fc.ipV6(),
  )
  fc.assert(fc.property(fc.array(entry), (entries) => findClientAddress(peer, entries.join(','), isProxy) !== ''))
})

t.test('the scheme comes from TLS, or from a trusted proxy', async (t) => {
  const behind: Peer = { address: '127.0.0.1', trusted: true, tls: false }
  t.equal(findClientScheme({ ...behind, trusted: false, tls: true }, 'http'), 'https')
  t.equal(findClientScheme({ ...behind, tls: true }, undefined), 'https')
  t.equal(findClientScheme(behind, 'https'), 'https')
  t.equal(findClientScheme(behind, 'http'), 'http')
  t.equal(findClientScheme(behind, 'http, HTTPS'), 'https', 'the nearest proxy')
  for (const odd of [undefined, '', 'wss', 'https,']) t.equal(findClientScheme(behind, odd), null, String(odd))
})

t.test('an origin is ours when its host, port and scheme are ours', async (t) => {
  const ours = (origin: string, host: string | undefined, scheme: 'http' | 'https' | null = 'https') =>
    !isForeignOrigin(origin, host, scheme)
  t.ok(ours('https://api.test', 'api.test'))
  t.ok(ours('HTTPS://API.test:443', 'api.TEST'))
  t.ok(ours('https://[::1]:8443', '[::1]:8443'))
  t.ok(ours('http://api.test', 'api.test:80', null), 'behind a proxy that tells no scheme')
  t.notOk(ours('http://api.test', 'api.test'))
  t.notOk(ours('https://api.test:80', 'api.test'))
  t.notOk(ours('https://api.test', undefined))
  for (const odd of [
    'null',
    '',
    'https://api.test/',
    'https://x@api.test',
    'ftp://api.test',
    'https://',
    '//api.test',
  ]) {
    t.notOk(ours(odd, 'api.test', null), odd)
  }
})

t.test('a path is the same under every prefix', async (t) => {
  const rows: readonly (readonly [target: string, path: string])[] = [
    ['/v1/emails?x=/v1', '/emails'],
    ['/api/v1/emails', '/emails'],
    ['/emails', '/emails'],
    ['/v1', '/'],
    ['/v1/', '/'],
    ['/api/v1', '/'],
    ['/api/emails', '/api/emails'],
    ['/v10/emails', '/v10/emails'],
    ['/v1x', '/v1x'],
    ['/v1/v1/emails', '/v1/emails'],
    ['https://api.test/v1/emails', '/emails'],
    ['HTTP://api.test', ''],
    ['//emails?x', '/emails'],
    ['//v1/emails', '/emails'],
    ['/v1//emails', '/emails'],
    ['/api/v1///emails', '/emails'],
    ['https://api.test//v1/emails', '/emails'],
    ['/emails//x', '/emails//x'],
    ['//ui/api/session', '/ui/api/session'],
    ['/v1//v1/emails', '/v1/emails'],
    ['//', '/'],
    ['*', '*'],
    ['', ''],
  ]
  for (const [target, path] of rows) t.same(placeOf(request(target), true), { mount: '/v1', path }, target)
  const others: readonly (readonly [target: string, place: Place])[] = [
    ['/ui/api/v1/emails?x', { mount: '/ui/api/v1', path: '/emails' }],
    ['/ui/api/session', { mount: '/ui/api', path: '/session' }],
    ['/ui/apix', { mount: '', path: '/ui/apix' }],
    ['/ui?x', { mount: '', path: '/ui' }],
    ['/uix', { mount: '/v1', path: '/uix' }],
    ['/v1/ui/docs', { mount: '/v1', path: '/ui/docs' }],
    ['/.well-known/mta-sts.txt?x', { mount: '', path: '/.well-known/mta-sts.txt' }],
  ]
  for (const [target, place] of others) t.same(placeOf(request(target), true), place, target)
  t.same(placeOf(request('/ui/api/session'), false), { mount: '', path: '/ui/api/session' }, 'without sessions')
  t.same(placeOf(request('/', { accept: 'text/html' }), true), { mount: '', path: '/' }, 'the root, for a browser')
})

function request(url: string, headers: IncomingMessage['headers'] = {}): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { url, headers, method: 'GET' })
}
