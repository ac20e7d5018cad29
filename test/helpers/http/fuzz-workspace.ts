/** A workspace with one of everything that the API can create. */

import { uuidv7 } from '../../../src/base/platform/ids.js'
import { storeInbound } from '../../../src/records/messages/inbound/inbound-email.js'
import type { TestDaemon } from '../daemon/test-daemon.js'
import { inboundMail } from '../mail/inbound-mail.js'
import { waitUntil } from '../wait-until.js'

interface Populated {
  readonly ids: readonly string[]
  /** Words that stand in its records and nowhere else. */
  readonly names: readonly string[]
}

/** Bodies of requests that create something; `secret` is a word of this workspace alone. */
const makings = (domain: string, secret: string, workspaceId: string, soon: string) => [
  ['/v1/emails', { from: `app@${domain}`, to: `${secret}@b.test`, subject: secret, text: secret, scheduled_for: soon }],
  ['/v1/suppressions', { email: `gone.${secret}@b.test` }],
  ['/v1/api-keys', { name: secret }],
  ['/v1/domains', { domain: `${secret}.test` }],
  ['/v1/audiences', { name: secret }],
  ['/v1/contacts', { email: `contact.${secret}@b.test`, first_name: secret }],
  ['/v1/templates', { name: secret, subject: secret, text: secret }],
  ['/v1/members', { workspaceId, email: `invited.${secret}@b.test`, role: 'member' }],
  // Of a type of which there are no events, so that nothing is delivered to it.
  ['/v1/webhooks', { url: `https://${secret}.test/`, events: ['email.complained'] }],
]

export async function populate(app: TestDaemon, key: string, domain: string): Promise<Populated> {
  const secret = `known-only-to-${domain.replace('.', '-')}`
  const workspaceId = key === app.key ? app.workspaceId : app.otherWorkspaceId
  const soon = new Date(app.now() + 86_400_000).toISOString()
  const ids = [await filed(app, workspaceId, domain, secret)]
  for (const [path, body] of makings(domain, secret, workspaceId, soon)) {
    if (!app.daemon.routes.some((route) => `/v1${route.path}` === path && route.method === 'POST')) continue
    const answer = await app.rest('POST', path as string, { key, body })
    if (answer.status !== 201) throw new Error(`${path as string}: ${answer.text}`)
    const made = answer.json<{ readonly id?: string; readonly data?: { readonly id: string } }>()
    ids.push(made.id ?? made.data?.id ?? '')
  }
  return { ids, names: [secret] }
}

async function filed(app: TestDaemon, workspaceId: string, domain: string, subject: string): Promise<string> {
  const id = uuidv7(app.now())
  const envelope = [`info@${domain}`]
  const email = inboundMail({ id, workspace_id: workspaceId, domain, envelope_to: envelope })
  await app.daemon.database.commit(
    storeInbound(email, Buffer.from(`From: ${subject}@b.test\r\nSubject: ${subject}\r\n\r\n${subject}\r\n`)),
  )
  const processed = `select 1 from inbound_emails where id = ? and status = 'processed'`
  await waitUntil('it is looked at', async () => (await app.rows(processed, id))[0])
  return id
}
