/** Days, names and chain of certificates, and whether the daemon serves the one on disk. */
import { X509Certificate } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import t from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import { storeCertificate, toCertificateRow } from '../../../../src/operations/certificates/certificate-rows.js'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import {
  hasKnownRoot,
  judgeChain,
  judgeDays,
  judgeNames,
  judgeServed,
  tlsChecks,
} from '../../../../src/operations/doctor/checks/tls-checks.js'
import type { FindingState } from '../../../../src/operations/doctor/finding.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { temporaryDatabase, temporaryFolder } from '../../../helpers/database/database.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

const DAY = 86_400_000

t.test('days', async (t) => {
  const { cert } = await createSelfSigned(['a.test'])
  const chain = [new X509Certificate(cert)]
  const end = Date.UTC(2099, 0, 1)
  const table: readonly (readonly [at: number, FindingState])[] = [
    [end - 21 * DAY, 'ok'],
    [end - 21 * DAY + 1, 'warn'],
    [end - 7 * DAY, 'warn'],
    [end - 7 * DAY + 1, 'fail'],
    [end + 1, 'fail'],
    [Date.UTC(2019, 0, 1), 'fail'],
  ]
  for (const [at, state] of table)
    t.equal(judgeDays('c', chain, at, ['renew']).state, state, new Date(at).toISOString())
})

t.test('names', async (t) => {
  const chain = [new X509Certificate((await createSelfSigned(['a.test', 'b.test'])).cert)]
  t.match(judgeNames('c', chain, ['a.test', 'b.test']), [{ state: 'ok' }])
  t.match(judgeNames('c', chain, ['a.test', 'c.test']), [
    { state: 'warn', text: /c\.test/, remedy: [/-d a\.test -d c\.test/, /./] },
  ])
  const withAddresses = [new X509Certificate((await createSelfSigned(['a.test', '127.0.0.1', '::1'])).cert)]
  t.match(judgeNames('c', withAddresses, ['a.test', '127.0.0.1', '[::1]']), [{ state: 'ok' }])
  t.match(judgeNames('c', chain, ['a.test', '192.0.2.1']), [
    { state: 'warn', text: /not for 192\.0\.2\.1/, remedy: [/service/, /public_url = "https:\/\/a\.test"/] },
  ])
  t.match(judgeNames('c', chain, ['a.test', '[2001:db8::1]']), [{ state: 'warn', remedy: [/service/, /a\.test/] }])
})

t.test('chains', async (t) => {
  const [one, other] = [await createSelfSigned(['a.test']), await createSelfSigned(['b.test'])]
  const [a, b] = [new X509Certificate(one.cert), new X509Certificate(other.cert)]
  const judge = async (chain: readonly X509Certificate[], authorities?: string) =>
    judgeChain('c', chain, await hasKnownRoot(chain, authorities))
  t.match(await judge([a], one.cert), { state: 'ok' })
  t.match(await judge([a], other.cert), { state: 'warn', text: /not a public authority/ })
  t.match(await judge([a]), { state: 'warn', text: /not a public authority/ })
  t.match(await judge([a, b], one.cert), { state: 'fail', text: /certificate 2/ })
  const [root] = rootCertificates
  t.match(await judge([new X509Certificate(root ?? '')]), { state: 'ok' })
})

t.test('the certificate that is served', async (t) => {
  const [a, b] = [await createSelfSigned(['a.test']), await createSelfSigned(['a.test'])].map(
    ({ cert }) => new X509Certificate(cert),
  )
  if (a === undefined || b === undefined) throw new Error('no certificates')
  t.match(judgeServed('127.0.0.1:465', a, a.raw), { state: 'ok' })
  t.match(judgeServed('127.0.0.1:465', a, b.raw), { state: 'fail', remedy: ['systemctl reload posthorn'] })
})

t.test('configured files that cannot be read are a failure, the own pair is made at the start', async (t) => {
  const run = (tls: Readonly<Record<string, string>>) =>
    tlsChecks[0]?.run({ config: testConfig({ tls }), clock: () => 0 } as unknown as CheckDeps)
  t.match(await run({ cert_file: '/nowhere/c.pem', key_file: '/nowhere/k.pem' }), [{ state: 'fail', text: /ENOENT/ }])
  t.match(await run({}), [{ state: 'ok', text: /the first start makes one/ }])
})

t.test('with an ACME server: its certificate of the host name, else the self-signed one of the start', async (t) => {
  const folder = temporaryFolder(t)
  const config = testConfig({
    service: { data_dir: folder, public_url: 'https://api.example.net' },
    tls: { acme: { enabled: true } },
  })
  const own = await createSelfSigned(['mail.example.net'])
  const { read, commit } = (await temporaryDatabase(t)).database
  const deps = { config, read, clock: () => Date.UTC(2030, 0, 1), authorities: own.cert }
  const run = () => tlsChecks[0]?.run(deps as unknown as CheckDeps)
  mkdirSync(join(folder, 'tls'))
  writeFileSync(join(folder, 'tls/cert.pem'), own.cert)
  writeFileSync(join(folder, 'tls/key.pem'), own.key)
  const chain = {
    subject: /cert\.pem chain/,
    state: 'warn',
    remedy: ['posthorn doctor acme', 'posthorn certificates renew mail.example.net'],
  }
  t.match(await run(), [{ state: 'ok' }, { state: 'ok', text: 'mail.example.net' }, chain])
  await commit([storeCertificate(toCertificateRow(parseDomainName('mail.example.net'), own))])
  t.match(await run(), [
    { state: 'ok', subject: 'acme:mail.example.net' },
    { state: 'ok', text: 'mail.example.net' },
    { state: 'ok', text: /known authority/ },
  ])
})
