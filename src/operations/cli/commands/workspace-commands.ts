/** `workspace create|list|set-plan|set-operator`: creates and changes workspaces. */

import { limitsOfPlan, UNLIMITED } from '../../../base/config/plans.js'
import { parseAddress } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { operatorActor, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import { readHeldInboundBytes } from '../../../workspaces/accounts/limits/inbound-bytes.js'
import { setPlan } from '../../../workspaces/accounts/limits/plans.js'
import { userById } from '../../../workspaces/accounts/people/users.js'
import { buildPasswordLink } from '../../../workspaces/accounts/sessions/password-links.js'
import {
  findOperatorWorkspace,
  initOperatorWorkspace,
  setOperatorWorkspace,
} from '../../../workspaces/accounts/workspace/operator-workspace.js'
import {
  allWorkspaces,
  buildWorkspaceWithOwner,
  type NewWorkspaceWithOwner,
} from '../../../workspaces/accounts/workspace/workspaces.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  refuseExtraWords,
  requiredOption,
  requiredWord,
} from '../command/command.js'
import { formatTable } from '../command/table.js'
import { chooseWorkspace } from '../command/workspace-choice.js'

export async function create(call: Call): Promise<Answer> {
  refuseExtraWords(call.words, 1)
  const { answer } = await createWorkspace(call, requiredWord(call.words, 0, 'NAME'))
  return answer
}

export async function list({ words, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await database()
  const operators = await findOperatorWorkspace(read)
  const data = await Promise.all(
    (await allWorkspaces(read, {})).map(async (row) => ({
      ...row,
      created_at: formatTimestamp(row.created_at),
      inbound_bytes: await readHeldInboundBytes(read, row.id),
      operator: row.id === operators,
    })),
  )
  const rows = data.map((row) => [
    row.id,
    row.name,
    row.plan,
    row.created_at,
    `${Math.ceil(row.inbound_bytes / MB)} MB`,
    row.operator ? 'yes' : '',
  ])
  return { json: { data }, lines: formatTable(['ID', 'NAME', 'PLAN', 'CREATED', 'INBOUND', 'OPERATOR'], rows) }
}

const MB = 1_048_576

export async function changeOperator({ words, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const { read, commit } = await database()
  const workspaceId = await chooseWorkspace(read, { workspace: requiredWord(words, 0, 'ID') })
  const action = 'workspace.made_operators'
  const details = { before: await findOperatorWorkspace(read) }
  const act = recordAuditEntry({
    workspaceId: SERVICE_WORKSPACE,
    actor: operatorActor,
    action,
    target: workspaceId,
    at: clock(),
    details,
  })
  if (!(await tryCommit(commit([setOperatorWorkspace(workspaceId), act])))) {
    throw new CommandFailed(`the workspace ${workspaceId} is gone`)
  }
  return { json: { workspace_id: workspaceId }, lines: [`${workspaceId} is the operator's workspace`] }
}

export async function changePlan({ words, config, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 2)
  const [workspace, plan] = [requiredWord(words, 0, 'ID'), requiredWord(words, 1, 'PLAN')]
  if (limitsOfPlan(config.limits.plans, plan) === undefined) {
    const known = [UNLIMITED, ...Object.keys(config.limits.plans)].join(', ')
    throw new CommandFailed(`no such plan: ${plan}; there are ${known}`)
  }
  const { read, commit } = await database()
  const workspaceId = await chooseWorkspace(read, { workspace })
  const action = 'workspace.plan_changed'
  const act = recordAuditEntry({
    workspaceId,
    actor: operatorActor,
    action,
    target: workspaceId,
    at: clock(),
    details: { plan },
  })
  if (!(await tryCommit(commit([setPlan({ workspaceId, plan }), act])))) {
    throw new CommandFailed(`the workspace ${workspaceId} is gone`)
  }
  return { json: { workspace_id: workspaceId, plan }, lines: [`${workspaceId} has the plan ${plan}`] }
}

interface CreatedWorkspace {
  readonly workspaceId: string
  /** It has the key, which is shown only now. */
  readonly answer: Answer
}

/** The owner is the address of `--email`. */
export async function createWorkspace(
  { options, config, database, clock }: Call,
  name: string,
): Promise<CreatedWorkspace> {
  const email = parseAddress(requiredOption(options, 'email'))
  if (name.trim() === '' || name.length > 100 || /\p{Cc}/u.test(name))
    throw new Refusal('invalid-parameter', 'the name may have 1 to 100 characters, no control characters')
  const { read, commit } = await database()
  const at = clock()
  const workspace = await buildWorkspaceWithOwner(read, name, email, config.limits.default_plan, at)
  const { workspaceId, userId } = workspace
  const details = { name, owner: userId }
  const act = recordAuditEntry({
    workspaceId,
    actor: operatorActor,
    action: 'workspace.created',
    target: workspaceId,
    at,
    details,
  })
  // The command line belongs to the operator, so the first workspace does too.
  const hasPassword = ((await userById(read, { id: userId }))[0]?.password_hash ?? null) !== null
  const { public_url: publicUrl } = config.service
  const hasDashboard = config.ui.enabled
  const link = hasPassword || !hasDashboard ? null : buildPasswordLink({ userId, purpose: 'set', publicUrl, now: at })
  const linkWrites = link === null ? [] : [link.write]
  await commit([...workspace.writes, ...linkWrites, initOperatorWorkspace(workspaceId), act])
  const url = link?.url ?? null
  return { workspaceId, answer: buildAnswer(workspace, name, email, url, hasDashboard ? describeSignIn(url) : []) }
}

/** Null if the owner has a password. */
function describeSignIn(passwordUrl: string | null): readonly string[] {
  return passwordUrl === null
    ? ['', 'The owner signs in to the dashboard with the password of before.']
    : ['', 'The owner sets a password for the dashboard here, once, within 24 hours:', passwordUrl]
}

function buildAnswer(
  { workspaceId, userId, key }: NewWorkspaceWithOwner,
  name: string,
  email: string,
  passwordUrl: string | null,
  signIn: readonly string[],
): Answer {
  return {
    json: {
      workspace_id: workspaceId,
      user_id: userId,
      api_key: key.secret,
      key_prefix: key.row.key_prefix,
      set_password_url: passwordUrl,
    },
    lines: [
      `workspace  ${workspaceId}  ${name}`,
      `owner      ${userId}  ${email}`,
      `API key    ${key.secret}`,
      '',
      'The key is shown this once. It is the SMTP password too; any user name will do.',
      ...signIn,
    ],
  }
}
