/**
 * The routes of invitations: list the pending ones, cancel, accept.
 *
 * Accepting needs no key: the body has the token of the invitation mail, which works once. Only its
 * answer has the new member's key.
 */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Store } from '../../../base/storage/db/database.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { actorOf, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import {
  endInvitation,
  type InvitationRow,
  invitationById,
  pendingPage,
  statusAt,
} from '../../../workspaces/accounts/people/invitations.js'
import { assignableRoles, requireAdministrator } from '../../../workspaces/accounts/people/members.js'
import { type AcceptDeps, acceptInvitation } from '../../../workspaces/accounts/sessions/accept-invitation.js'
import { type Answer, json } from '../http/answer.js'
import { name, notFound, password, timestamp, uuid } from '../http/input/values.js'
import { openRoute, type Route, route } from '../http/route/route.js'
import { member, toMemberResource } from './members.js'
import { authorizeInWorkspace, sliceFields, workspaceId } from './named-workspace.js'

interface InvitationDeps extends Store {
  readonly acceptDeps: AcceptDeps
}

const anId = 'allowed: the id of an invitation'
const invitationId = z.string(anId).max(100, anId).meta({ description: 'Id of the invitation.' })

const listQuery = z.strictObject({ workspaceId, ...sliceFields })
const cancelByPath = z.strictObject({
  workspaceId,
  invitationId: invitationId.optional().meta({ description: 'The same as in the path.' }),
})
const cancelByQuery = z.strictObject({ workspaceId, invitationId })

const CODE_RULE = 'allowed: a code of the authenticator, 6 digits'

const acceptance = z
  .strictObject({
    token: z.string('allowed: the token of the link').max(200, 'allowed: the token of the link'),
    full_name: name,
    password: password.meta({
      description: 'The password of the account of that address; a new account gets this one.',
    }),
    code: z.string(CODE_RULE).max(20, CODE_RULE).optional().meta({
      description: 'Of the authenticator, where the second factor of the account is enabled.',
      example: '492039',
    }),
  })
  .meta({ id: 'Acceptance' })

const invitation = z
  .strictObject({
    id: uuid,
    email: z.string(),
    role: z.enum(assignableRoles),
    created_at: timestamp,
    expires_at: timestamp,
    invited_by: z.strictObject({ full_name: z.string(), email: z.string() }),
  })
  .meta({ id: 'Invitation' })
const withData = <Shape extends z.ZodType>(data: Shape) => z.strictObject({ data })
const cancelledInvitation = withData(z.strictObject({ cancelled: z.literal(true), id: uuid }))
const acceptedInvitation = withData(
  z.strictObject({
    member,
    api_key: z.string().meta({ description: 'The key, which only this answer has.' }),
  }),
)

const tag = 'Invitations'
const summary = 'Cancel an invitation'
const answers = { 200: { description: 'It is cancelled.', schema: cancelledInvitation } }
const description = 'For owner and admins. The link stops working permanently.'

export function invitationRoutes(deps: InvitationDeps): readonly Route[] {
  const common = { area: 'named', tag, summary, description, answers } as const
  return [
    listRoute(deps),
    route({
      ...common,
      method: 'DELETE',
      path: '/invitations/:id',
      query: cancelByPath,
      refusals: ['not_found', 'conflict', 'missing_required_field'],
      run: ({ principal, params: { id = '' }, query: { workspaceId, invitationId = id }, now }) => {
        if (invitationId !== id) throw invitationMismatchRefusal(invitationId)
        return cancel(deps, principal, { workspaceId, id, now })
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/invitations',
      query: cancelByQuery,
      refusals: ['not_found', 'conflict', 'missing_required_field'],
      run: ({ principal, query: { workspaceId, invitationId: id }, now }) =>
        cancel(deps, principal, { workspaceId, id, now }),
    }),
    acceptRoute(deps),
  ]
}

function invitationMismatchRefusal(id: string): Refusal {
  const message = 'invitationId: must be the id in the path'
  return new Refusal('invalid-parameter', message, { field: 'invitationId', value: id })
}

function listRoute({ read }: InvitationDeps): Route {
  return route({
    method: 'GET',
    path: '/invitations',
    area: 'named-read',
    tag,
    summary: 'List the pending invitations, oldest first',
    query: listQuery,
    answers: { 200: { description: 'Some of them.', schema: withData(z.array(invitation)) } },
    refusals: ['not_found', 'missing_required_field'],
    run: async ({ principal, query: { workspaceId, ...query }, now }) => {
      await authorizeInWorkspace(read, principal, workspaceId, 'admin-read')
      return json(200, { data: (await pendingPage(read, { workspaceId, now, ...query })).map(toInvitationResource) })
    },
  })
}

async function cancel(
  { read, commit }: InvitationDeps,
  principal: Principal,
  { workspaceId, id, now }: { readonly workspaceId: string; readonly id: string; readonly now: number },
): Promise<Answer> {
  const named = await authorizeInWorkspace(read, principal, workspaceId, 'admin')
  const act = { workspaceId, actor: actorOf(principal), action: 'invitation.cancelled', target: id, at: now } as const
  const end = endInvitation({ workspaceId, id, status: 'cancelled', now })
  if (!(await tryCommit(commit([requireAdministrator(named), end, recordAuditEntry(act)])))) {
    await authorizeInWorkspace(read, principal, workspaceId, 'admin')
    const [row] = await invitationById(read, { workspaceId, id })
    if (row === undefined) throw notFound('not-found', 'invitation', id)
    const status = statusAt(row, now)
    throw new Refusal('conflict', `the invitation is ${status}: only a pending one can be cancelled`, { id, status })
  }
  return json(200, { data: { cancelled: true, id } })
}

function acceptRoute({ acceptDeps }: InvitationDeps): Route {
  return openRoute({
    method: 'POST',
    path: '/invitations/accept',
    area: 'public',
    tag,
    summary: 'Accept an invitation with the token of its mail',
    description:
      'Needs no key. Works once. If the address has an account, the password is verified and never changed; ' +
      'else it is the new password, with at least 12 characters. Where the second factor of the account is enabled, `code` ' +
      'is needed: without it, or with a wrong one, the answer is `insufficient_permissions` with `second_factor: true`.',
    body: acceptance,
    answers: {
      201: { description: 'The member, and a key that may do all that the member may.', schema: acceptedInvitation },
    },
    refusals: ['not_found', 'conflict', 'insufficient_permissions'],
    run: async ({ body: { token, full_name: fullName, password, code }, remoteAddress, now }) => {
      const accepted = await acceptInvitation(acceptDeps, { token, fullName, password, code, remoteAddress, now })
      return json(201, { data: { member: toMemberResource(accepted.member), api_key: accepted.key.secret } })
    },
  })
}

function toInvitationResource(row: InvitationRow): z.output<typeof invitation> {
  const { id, email, role, created_at, expires_at, invited_by_name, invited_by_email } = row
  const invited_by = { full_name: invited_by_name, email: invited_by_email }
  return { id, email, role, created_at: iso(created_at), expires_at: iso(expires_at), invited_by }
}
