/** GET /ui/api/first-steps: how far a new workspace is on the way from its first domain to its first delivered email. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { DAY } from '../../../base/platform/time-units.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { type ListedEmail, listEmails, newestEmail } from '../../../records/messages/email-list.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { countLiveKeys } from '../../../workspaces/accounts/keys/api-keys.js'
import { countPending } from '../../../workspaces/accounts/people/invitations.js'
import { countMembers } from '../../../workspaces/accounts/people/members.js'
import { workspaceOfUser } from '../../../workspaces/accounts/workspace/workspaces.js'
import { domainByName, verifiedDomainNames } from '../../../workspaces/domains/rows/sending-domains.js'
import { readTroubledDomains } from '../../../workspaces/domains/troubled-domains.js'
import { webhooksOfWorkspace } from '../../../workspaces/webhooks/webhook-records.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'

/** An older workspace that delivers mail has no further use for the two steps that are optional. */
const OPTIONAL_DAYS = 14

const domainStep = z.strictObject({
  id: z.string(),
  domain: z.string().meta({ example: 'example.com' }),
  status: z.enum(['pending', 'verified', 'failed']),
})

const emailStep = z.strictObject({
  id: z.string(),
  status: z.string().meta({ example: 'delivered' }),
  subject: z.string(),
  created_at: timestamp,
})

const firstSteps = z
  .strictObject({
    domain: domainStep.nullable().meta({
      description: 'The first verified domain, or without one the oldest other domain; null: there is none.',
    }),
    has_key: z.boolean().meta({ description: 'Whether there is a key that is not revoked.' }),
    email: emailStep.nullable().meta({
      description: 'The newest delivered email, or without one the newest email; null: none was accepted.',
    }),
    is_delivered: z.boolean().meta({ description: 'Whether an email was delivered.' }),
    has_webhook: z.boolean(),
    has_invited: z.boolean().meta({ description: 'Whether there is a second member or an invitation.' }),
    is_done: z.boolean().meta({
      description:
        'Whether all steps are done. From the day on which the workspace is ' +
        `${OPTIONAL_DAYS} days old, webhook and invitation do not count.`,
    }),
  })
  .meta({ id: 'FirstSteps' })

type FirstSteps = z.output<typeof firstSteps>

export function firstStepsRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/first-steps',
    area: 'read',
    tag: 'Overview',
    summary: 'Show which first steps of a workspace are done',
    answers: { 200: { description: 'The steps.', schema: firstSteps } },
    refusals: [],
    run: async ({ principal, now }) => json(200, await readFirstSteps(read, principal, now)),
  })
}

async function readFirstSteps(
  read: Read,
  { workspaceId, userId }: Pick<Principal, 'workspaceId' | 'userId'>,
  now: number,
): Promise<FirstSteps> {
  const domain = await findDomain(read, workspaceId)
  const delivered = await findDelivered(read, workspaceId)
  const email = delivered ?? (await newestEmail(read, { workspaceId }))[0] ?? null
  const isDelivered = email?.status === 'delivered'
  const hasKey = ((await countLiveKeys(read, { workspaceId }))[0]?.count ?? 0) > 0
  const hasWebhook = (await webhooksOfWorkspace(read, { workspaceId })).length > 0
  const hasInvited = await hasCompany(read, workspaceId, now)
  const createdAt =
    userId === null ? now : ((await workspaceOfUser(read, { userId, workspaceId }))[0]?.created_at ?? now)
  const isUnderWay = domain?.status === 'verified' && hasKey && isDelivered
  return {
    domain,
    has_key: hasKey,
    email: email === null ? null : toEmailStep(email),
    is_delivered: isDelivered,
    has_webhook: hasWebhook,
    has_invited: hasInvited,
    is_done: isUnderWay && ((hasWebhook && hasInvited) || createdAt <= now - OPTIONAL_DAYS * DAY),
  }
}

async function findDomain(read: Read, workspaceId: string): Promise<FirstSteps['domain']> {
  const [name] = await verifiedDomainNames(read, { workspaceId, limit: 1 })
  const [verified] = name === undefined ? [] : await domainByName(read, { workspaceId, domain: name.domain })
  const found = verified ?? (await readTroubledDomains(read, workspaceId, 1))[0]
  return found === undefined ? null : { id: found.id, domain: found.domain, status: found.status }
}

/** Those of broadcasts are listed apart. */
async function findDelivered(read: Read, workspaceId: string): Promise<ListedEmail | null> {
  const filter = { workspaceId, status: 'delivered', broadcastId: null } as const
  return (await listEmails(read, filter, { after: undefined, offset: 0, limit: 1 }))[0] ?? null
}

function toEmailStep({
  id,
  status,
  subject,
  created_at: createdAt,
}: Pick<ListedEmail, 'id' | 'status' | 'subject' | 'created_at'>): FirstSteps['email'] {
  return { id, status, subject, created_at: iso(createdAt) }
}

async function hasCompany(read: Read, workspaceId: string, now: number): Promise<boolean> {
  const members = (await countMembers(read, { workspaceId }))[0]?.count ?? 0
  return members > 1 || ((await countPending(read, { workspaceId, now }))[0]?.count ?? 0) > 0
}
