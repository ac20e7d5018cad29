/** The certificate of the MX host under our MTA-STS policy. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import { judgeMxHost, mtaStsChecks } from '../../../../src/operations/doctor/checks/mta-sts-checks.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { temporaryFolder } from '../../../helpers/database/database.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

t.test('a fault stops mail under enforce alone', async (t) => {
  t.equal(judgeMxHost('mx.test', 'enforce', []).state, 'ok')
  t.equal(judgeMxHost('mx.test', 'testing', ['expired']).state, 'warn')
  t.match(judgeMxHost('mx.test', 'enforce', ['expired']), { state: 'fail', text: /^expired: other servers/ })
})

t.test('the certificate must be valid, of a known authority, and for the MX host', async (t) => {
  const folder = temporaryFolder(t)
  const run = async (mode: string, names: readonly string[], more: { expired?: boolean; known?: boolean } = {}) => {
    const { cert, key } = await createSelfSigned(names, { expired: more.expired === true })
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key)
    const config = testConfig({ inbound: { mta_sts: mode }, tls: { cert_file: certFile, key_file: keyFile } })
    const authorities = more.known === false ? (await createSelfSigned(['other.test'])).cert : cert
    const deps = { config, authorities, clock: () => Date.now() }
    return mtaStsChecks[0]?.run(deps as unknown as CheckDeps)
  }
  const mx = 'mx.mail.example.net'
  t.match(await run('off', [mx]), [{ state: 'ok', text: /not needed/ }])
  t.match(await run('enforce', [mx]), [{ state: 'ok', text: /fits the policy/ }])
  t.match(await run('enforce', ['other.test']), [{ state: 'fail', text: /is not for mx\.mail\.example\.net/ }])
  t.match(await run('testing', [mx], { expired: true }), [{ state: 'warn', text: /expired/ }])
  t.match(await run('enforce', [mx], { known: false }), [
    { state: 'fail', text: /not a public authority|intermediate/ },
  ])
})
