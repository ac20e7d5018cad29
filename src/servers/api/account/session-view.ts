/** Shows a page the user who is signed in: the user, their workspaces, the session, and the service. */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { version } from '../../../base/platform/version.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { userById } from '../../../workspaces/accounts/people/users.js'
import { countRecoveryCodes, secondFactorOf } from '../../../workspaces/accounts/sessions/second-factor.js'
import type { OpenSession } from '../../../workspaces/accounts/sessions/session-check.js'
import { findOperatorWorkspace } from '../../../workspaces/accounts/workspace/operator-workspace.js'
import { workspacesOfUser } from '../../../workspaces/accounts/workspace/workspaces.js'
import { timestamp, uuid } from '../http/input/values.js'

export interface ShownServiceNames {
  readonly hostname: string
  readonly publicUrl: string
}

/** Workspaces in the answer. */
const MAX_WORKSPACES = 1_000

const sessionId = z.string().meta({ example: 'ses_01a1ff35-3880-7ef5-bbba-0d7e1de2529c' })

export const sessionView = z
  .strictObject({
    user: z.strictObject({
      id: uuid,
      email: z.string(),
      full_name: z.string(),
      totp_enabled: z.boolean(),
      recovery_codes_left: z.int().meta({ description: 'Those that were not used yet.', example: 10 }),
    }),
    workspaces: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        role: z.enum(['owner', 'admin', 'member']),
        is_operator: z.boolean().meta({ description: "Whether it is the operator's." }),
      }),
    ),
    session: z.strictObject({ id: sessionId, expires_at: timestamp }),
    service: z.strictObject({ version: z.string(), hostname: z.string(), public_url: z.string() }),
  })
  .meta({ id: 'Session' })

/** Throws a Refusal if the user was erased. */
export async function buildSessionView(
  read: Read,
  { id, userId, expiresAt }: OpenSession,
  { hostname, publicUrl }: ShownServiceNames,
): Promise<z.output<typeof sessionView>> {
  const [user] = await userById(read, { id: userId })
  const [factor] = await secondFactorOf(read, { userId })
  if (user === undefined) throw new Refusal('signed-out', 'the account no longer exists')
  const operators = await findOperatorWorkspace(read)
  return {
    user: {
      id: userId,
      email: user.email,
      full_name: user.full_name,
      totp_enabled: (factor?.totp_enabled_at ?? null) !== null,
      recovery_codes_left: await countRecoveryCodes(read, userId),
    },
    workspaces: (await workspacesOfUser(read, { userId, limit: MAX_WORKSPACES, offset: 0 })).map((row) => ({
      id: row.id,
      name: row.name,
      role: row.role,
      is_operator: row.id === operators,
    })),
    session: { id, expires_at: iso(expiresAt) },
    service: { version, hostname, public_url: publicUrl },
  }
}
