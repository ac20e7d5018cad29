/** The notice of an expiry names the renewal that the certificate has. */
import t from 'tap'
import { insertMember } from '../../src/accounts/people/members.js'
import { insertUser } from '../../src/accounts/people/users.js'
import { parseAddress, parseDomainName } from '../../src/mail/address.js'
import { composeCertificateNotices } from '../../src/notices/certificate-notice.js'
import { temporaryDatabase } from '../helpers/database/database.js'

const expiresAt = Date.UTC(2026, 0, 9)
const warning = { name: 'mail.example.test', expiresAt, fault: null }

t.test('each origin has its own way to a new certificate', async (t) => {
  const { database } = await temporaryDatabase(t)
  const email = parseAddress('owner@a.test')
  await database.commit([
    insertUser({ id: 'u', email, full_name: 'Owner', password_hash: null, created_at: 0 }),
    insertMember({ id: 'm', workspace_id: 'a', user_id: 'u', role: 'owner', joined_at: 0 }),
  ])
  const sender = { hostname: parseDomainName('mail.example.test'), mailFrom: parseAddress('posthorn@example.test') }
  const textOf = (origin: 'acme' | 'files' | 'self-signed'): string => {
    const [notice] = composeCertificateNotices({ ...sender, read: database.read, origin }, 'a', warning, 0)
    return notice?.raw.toString().replaceAll('=\r\n', '').replace(/\s+/g, ' ') ?? ''
  }
  t.match(textOf('acme'), /posthorn certificates renew mail\.example\.test/)
  t.match(textOf('files'), /tls\.cert_file .*posthorn reload/)
  t.match(textOf('self-signed'), /self-signed\. A reload makes a new one/)
  for (const origin of ['files', 'self-signed'] as const) t.notMatch(textOf(origin), /posthorn certificates/)
})
