/** Whose host the URLs in a domain's mail bear. */
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { TrackingHost } from '../../../src/outbound/tracking/tracking-host.js'
import { createSelfSigned } from '../../helpers/certificates.js'

const domain = parseDomainName('a.test')
const other = parseDomainName('b.test')
const publicUrl = 'https://mail.test:8443/base'

t.test('the mail host, while a valid certificate names it', async (t) => {
  const named = await createSelfSigned(['mail.test', 'posthorn.a.test'])
  const wildcard = await createSelfSigned(['*.b.test'])
  const expired = await createSelfSigned(['posthorn.a.test'], { expired: true })
  let pem = named.cert
  let now = Date.UTC(2026, 10, 21)
  const served = new Set<string>()
  const servesName = (name: string): boolean => served.has(name)
  const clock = (): number => now
  const host = new TrackingHost({ publicUrl, servesTls: true, certificateOf: () => pem, servesName, clock })
  t.equal(host.baseFor(domain), 'https://posthorn.a.test:8443/base')
  t.equal(host.baseFor(other), publicUrl)
  pem = wildcard.cert
  t.equal(host.baseFor(domain), publicUrl, 'another certificate was loaded')
  t.equal(host.baseFor(other), 'https://posthorn.b.test:8443/base')
  pem = expired.cert
  t.equal(host.baseFor(domain), publicUrl, 'it has expired')
  now = Date.UTC(2020, 0, 15)
  t.equal(host.baseFor(domain), 'https://posthorn.a.test:8443/base')
  now = Date.UTC(2019, 0, 1)
  t.equal(host.baseFor(domain), publicUrl, 'it is not valid yet')
  served.add('posthorn.a.test')
  t.equal(host.baseFor(domain), 'https://posthorn.a.test:8443/base', 'a certificate of its own is served')
  t.equal(host.baseFor(other), publicUrl)
})

t.test('service.public_url where no listener of ours serves TLS to clients', async (t) => {
  const { cert } = await createSelfSigned(['posthorn.a.test'])
  const deps = { certificateOf: () => cert, servesName: () => true, clock: () => Date.UTC(2026, 10, 21) }
  const plain = 'http://mail.test'
  t.equal(new TrackingHost({ ...deps, publicUrl, servesTls: false }).baseFor(domain), publicUrl)
  t.equal(new TrackingHost({ ...deps, publicUrl: plain, servesTls: true }).baseFor(domain), plain)
  t.equal(
    new TrackingHost({ ...deps, publicUrl: 'https://mail.test', servesTls: true }).baseFor(domain),
    'https://posthorn.a.test',
  )
})
