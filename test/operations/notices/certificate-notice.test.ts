/** The notice of an expiry names the renewal that the certificate has; one notice is about all certificates. */
import t, { type Test } from 'tap'
import { parseAddress, parseDomainName } from '../../../src/base/mail/address.js'
import type { ExpiryWarning } from '../../../src/operations/certificates/expiry-watch.js'
import { composeCertificateNotices } from '../../../src/operations/notices/certificate-notice.js'
import { insertMember } from '../../../src/workspaces/accounts/people/members.js'
import { insertUser } from '../../../src/workspaces/accounts/people/users.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const expiresAt = Date.UTC(2026, 0, 9)
const warning = { name: 'mail.example.test', expiresAt, fault: null }

type Origin = 'acme' | 'files' | 'self-signed'

/** Composes for one administrator. */
async function openComposer(t: Test): Promise<(origin: Origin, warnings: readonly ExpiryWarning[]) => Promise<string>> {
  const { database } = await temporaryDatabase(t)
  const email = parseAddress('owner@a.test')
  await database.commit([
    insertUser({ id: 'u', email, full_name: 'Owner', password_hash: null, created_at: 0 }),
    insertMember({ id: 'm', workspace_id: 'a', user_id: 'u', role: 'owner', joined_at: 0 }),
  ])
  const sender = { hostname: parseDomainName('mail.example.test'), mailFrom: parseAddress('posthorn@example.test') }
  return async (origin, warnings) => {
    const notices = await composeCertificateNotices({ ...sender, read: database.read, origin }, 'a', warnings, 0)
    t.equal(notices.length, 1)
    return notices[0]?.raw.toString().replaceAll('=\r\n', '').replace(/\s+/g, ' ') ?? ''
  }
}

t.test('each origin has its own way to a new certificate', async (t) => {
  const compose = await openComposer(t)
  t.match(await compose('acme', [warning]), /posthorn certificates renew mail\.example\.test/)
  t.match(await compose('files', [warning]), /tls\.cert_file .*posthorn reload/)
  t.match(await compose('self-signed', [warning]), /self-signed\. This command makes a new one/)
  for (const origin of ['files', 'self-signed'] as const)
    t.notMatch(await compose(origin, [warning]), /posthorn certificates/)
})

t.test('many certificates are one notice, which names the first of them', async (t) => {
  const compose = await openComposer(t)
  const many = Array.from({ length: 1_000 }, (_, at) => ({ ...warning, name: `mail.a${at}.test`, fault: 'refused' }))
  const text = await compose('acme', many)
  t.match(text, /Subject: 1000 certificates expire, the first on /)
  t.match(text, /mail\.a0\.test expires on .*; the last try failed: refused/)
  t.match(text, /mail\.a19\.test/)
  t.notMatch(text, /mail\.a20\.test/)
  t.match(text, /and 980 more/)
})
