/** An invitation, with the token of its mail. */
import { createSecretKey } from 'node:crypto'
import { buildInvitationToken } from '../../../src/workspaces/accounts/people/invitations.js'
import type { TestDaemon } from '../daemon/test-daemon.js'

interface Inviter {
  readonly workspaceId: string
  readonly key: string
}

/** Invites to the first workspace, if no other is named. */
export async function inviteMember(
  app: TestDaemon,
  email: string,
  { workspaceId, key }: Inviter = app,
): Promise<string> {
  const answer = await app.rest('POST', '/v1/members', { key, body: { email, role: 'member', workspaceId } })
  const { id } = answer.json<{ data: { id: string } }>().data
  return buildToken(app, id)
}

/** The token in the mail of an invitation, as the service makes it. */
export async function buildToken(app: TestDaemon, id: string): Promise<string> {
  const [row] = await app.rows<{ value: string }>(`select value from service_state where key = 'link_secret'`)
  return buildInvitationToken(createSecretKey(row?.value ?? '', 'base64'), id)
}
