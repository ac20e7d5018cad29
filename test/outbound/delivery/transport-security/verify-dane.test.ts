/**
 * The certificates are files, so that dates, serial numbers and keys never change: root (to 2099), intermediate (to 2050),
 * server (to 2090, for mx.dane.test and *.wild.dane.test), under-server (issued by the server's, which is no CA), alone
 * (signed by itself), and a second root of the same name.
 */
import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseTlsa, type TlsaRecord } from '../../../../src/outbound/delivery/hosts/tlsa-record.js'
import { verifyDane } from '../../../../src/outbound/delivery/transport-security/verify-dane.js'

const read = (name: string): X509Certificate => new X509Certificate(readFileSync(`test/fixtures/dane/${name}.pem`))
const [root, sameNameRoot, intermediate, server, underServer, alone] = [
  read('root'),
  read('same-name-root'),
  read('intermediate'),
  read('server'),
  read('under-server'),
  read('alone'),
]
const in2030 = Date.parse('2030-01-01')
const name = 'mx.dane.test'

type Form = '0 0' | '0 1' | '0 2' | '1 0' | '1 1' | '1 2'

function record(usage: 2 | 3, form: Form, { raw, publicKey }: X509Certificate): TlsaRecord {
  const bytes = form.startsWith('0') ? raw : publicKey.export({ type: 'spki', format: 'der' })
  const digest = form.endsWith('1') ? 'sha256' : 'sha512'
  const data = form.endsWith('0') ? bytes : createHash(digest).update(bytes).digest()
  const parsed = parseTlsa(`${usage} ${form} ${data.toString('hex')}`)
  if (parsed === null) throw new Error('the record is not usable')
  return parsed
}

const forms: readonly Form[] = ['0 0', '0 1', '0 2', '1 0', '1 1', '1 2']

t.test('DANE-EE names the certificate or its key; neither name nor dates count', async (t) => {
  for (const form of forms) {
    const demand = { records: [record(3, form, alone)], names: [name] }
    t.equal(verifyDane([alone], demand, in2030), null, form)
    t.equal(verifyDane([alone], demand, Date.parse('2150-01-01')), null, `${form}, expired`)
    t.match(verifyDane([server, intermediate], demand, in2030), { type: 'validation-failure' }, `${form}, another`)
  }
  const ofIssuer = { records: [record(3, '0 1', intermediate)], names: [name] }
  t.match(
    verifyDane([server, intermediate], ofIssuer, in2030),
    { type: 'validation-failure' },
    'an issuer is no server',
  )
})

t.test('DANE-TA names an issuer, in any form', async (t) => {
  for (const form of forms) {
    for (const issuer of [intermediate, root]) {
      const demand = { records: [record(2, form, issuer)], names: [name] }
      t.equal(verifyDane([server, intermediate, root], demand, in2030), null, `${form} ${issuer.subject}`)
    }
  }
})

t.test('an issuer that the server does not send must be whole in the record', async (t) => {
  const verify = (form: Form): unknown =>
    verifyDane([server, intermediate], { records: [record(2, form, root)], names: [name] }, in2030)
  t.equal(verify('0 0'), null, 'the certificate')
  t.equal(verify('1 0'), null, 'the key')
  for (const form of ['0 1', '0 2', '1 1', '1 2'] as const) t.match(verify(form), { type: 'validation-failure' }, form)
})

t.test('under an issuer, names count', async (t) => {
  const verify = (...names: string[]): unknown =>
    verifyDane([server, intermediate], { records: [record(2, '1 1', intermediate)], names }, in2030)
  t.equal(verify('mx.dane.test'), null)
  t.equal(verify('other.test', 'mx.dane.test'), null, 'any of them')
  t.equal(verify('a.wild.dane.test'), null, 'a wildcard of one label')
  t.match(verify('a.b.wild.dane.test'), { type: 'certificate-host-mismatch' })
  t.match(verify('dane.test'), { type: 'certificate-host-mismatch' })
})

t.test('under an issuer, dates count', async (t) => {
  const verify = (issuer: X509Certificate, date: string): unknown =>
    verifyDane([server, intermediate, root], { records: [record(2, '1 1', issuer)], names: [name] }, Date.parse(date))
  t.equal(verify(intermediate, '2049-12-31'), null)
  t.match(verify(intermediate, '2019-12-31'), { type: 'certificate-expired' }, 'before the time of all')
  t.match(verify(intermediate, '2060-01-01'), {
    type: 'certificate-expired',
    detail: 'the certificate of an issuer is not valid now',
  })
  t.match(
    verify(root, '2060-01-01'),
    { type: 'certificate-expired' },
    'between the server and the issuer of the record',
  )
  t.match(verify(root, '2095-01-01'), { type: 'certificate-expired', detail: 'the certificate is not valid now' })
})

t.test('each certificate must be signed by the next, and issuers must be CAs', async (t) => {
  const byRoot = { records: [record(2, '1 1', root)], names: [name] }
  t.match(verifyDane([server, root], byRoot, in2030), { type: 'validation-failure' }, 'a link is missing')
  const bySameName = { records: [record(2, '0 1', sameNameRoot)], names: [name] }
  const forged = verifyDane([server, intermediate, sameNameRoot], bySameName, in2030)
  t.match(forged, { type: 'validation-failure' }, 'the name of the issuer, and another key')
  const byServer = { records: [record(2, '1 1', server)], names: ['mx.other.test'] }
  t.match(verifyDane([underServer, server], byServer, in2030), { type: 'validation-failure' }, 'no CA')
  const itself = { records: [record(2, '1 1', alone)], names: ['mx.alone.test'] }
  t.match(verifyDane([alone], itself, in2030), { type: 'validation-failure' }, 'its own issuer')
})

t.test('one record that matches suffices; without a certificate nothing does', async (t) => {
  const records = [record(3, '1 1', alone), record(2, '0 1', root), record(3, '0 1', server)]
  t.equal(verifyDane([server], { records, names: [] }, in2030), null)
  t.match(verifyDane([], { records, names: [] }, in2030), { type: 'validation-failure' })
})

t.test('a record whose bytes are no certificate matches nothing', async (t) => {
  for (const text of ['2 0 0 3003020101', '2 1 0 00', '3 0 0 ff']) {
    const junk = parseTlsa(text)
    t.match(verifyDane([server], { records: junk === null ? [] : [junk], names: [name] }, in2030), {
      type: 'validation-failure',
    })
  }
})
