/** `warmup`: how far the warm-up of new source addresses and domains is, its plan, and the operator's changes of it. */

import { listConfiguredSources } from '../../../base/config/configured-sources.js'
import { providerGroups } from '../../../base/mail/mailbox-providers.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { parseIpAddress } from '../../../base/platform/ip-address.js'
import { dayOf } from '../../../base/platform/time-units.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { WarmUpPlan } from '../../../outbound/delivery/sources/warm-up-plan.js'
import {
  EVERY_PROVIDER,
  insertWarmUp,
  listWarmUps,
  resetWarmUps,
  type WarmUpRow,
} from '../../../outbound/delivery/sources/warm-up-store.js'
import { viewWarmUp } from '../../../outbound/delivery/sources/warm-up-view.js'
import { allWorkspaces } from '../../../workspaces/accounts/workspace/workspaces.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  refuseExtraWords,
  requiredWord,
  UsageError,
} from '../command/command.js'
import { formatTable } from '../command/table.js'

async function listRows(read: Read): Promise<readonly WarmUpRow[]> {
  const workspaces = [SERVICE_WORKSPACE, ...(await allWorkspaces(read, {})).map(({ id }) => id)]
  return (await Promise.all(workspaces.map(async (workspaceId) => listWarmUps(read, { workspaceId })))).flat()
}

/** One subject at one provider, today. */
function describeRow(row: WarmUpRow, plan: WarmUpPlan, today: number) {
  const { workspace_id: workspaceId, subject, provider } = row
  return {
    ...{ subject, workspace: workspaceId === SERVICE_WORKSPACE ? null : workspaceId, provider },
    ...viewWarmUp(row, plan, today),
  }
}

export async function show({ words, database, config, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await database()
  const { outbound } = config
  const plan = outbound.warm_up_plan
  const rows = (await listRows(read)).map((row) => describeRow(row, plan, dayOf(clock())))
  const begun = new Set(rows.map(({ subject }) => subject))
  const warming = listConfiguredSources(outbound).filter(({ isWarming }) => isWarming)
  const waiting = warming.map(({ address }) => canonical(address)).filter((address) => !begun.has(address))
  const table = formatTable(
    ['ADDRESS OR DOMAIN', 'PROVIDER', 'STEP', 'SENT', 'CAP', 'DEFERRED', 'NEXT DAY'],
    rows.map((row) => [
      row.subject,
      row.provider === EVERY_PROVIDER ? 'all' : row.provider,
      row.day === null ? 'ended' : `${row.day} of ${plan.length}`,
      String(row.sent),
      row.cap === null ? 'none' : String(row.cap),
      String(row.deferred),
      row.next_cap === null ? 'no cap' : String(row.next_cap),
    ]),
  )
  return {
    json: { plan, domains: outbound.domain_warm_up, not_begun: waiting, data: rows },
    lines: [
      ...(rows.length === 0 ? ['nothing is being warmed up, or nothing was sent from it yet'] : table),
      ...waiting.map(
        (address) => `${address}: nothing sent yet; the first day allows ${plan[0]} messages to each provider`,
      ),
      '',
      `plan, messages a day: ${plan.join(', ')}, then no cap`,
    ],
  }
}

export function skip(call: Call): Promise<Answer> {
  return change(call, 'skip')
}

export function restart(call: Call): Promise<Answer> {
  return change(call, 'restart')
}

async function change(call: Call, action: 'skip' | 'restart'): Promise<Answer> {
  const { words, database, clock } = call
  refuseExtraWords(words, 2)
  const subject = canonical(requiredWord(words, 0, 'ADDRESS|DOMAIN').toLowerCase())
  const provider = words[1] ?? EVERY_PROVIDER
  if (provider !== EVERY_PROVIDER && !providerGroups.includes(provider)) {
    throw new UsageError(`no provider ${provider}; known: ${providerGroups.join(', ')}`)
  }
  const { read, commit } = await database()
  const at = clock()
  const workspaces = await workspacesOf(read, call, subject)
  const ended = action === 'skip' ? 1 : 0
  await commit(
    workspaces.flatMap((workspaceId) => {
      const key = { workspaceId, subject, provider }
      return [resetWarmUps({ ...key, step: 0, ended, at }), insertWarmUp({ ...key, day: dayOf(at), ended, at })]
    }),
  )
  const done = action === 'skip' ? 'has no cap from now on' : 'starts again with the first day of the plan'
  const where = provider === EVERY_PROVIDER ? '' : ` at ${provider}`
  return {
    json: { subject, provider, action, at: formatTimestamp(at) },
    lines: [`${subject}${where} ${done}; "posthorn queue retry --reason warming-up" sends what waits`],
  }
}

function canonical(text: string): string {
  return parseIpAddress(text)?.toString() ?? text
}

/**
 * The workspaces of the subject. An address belongs to the service, a domain to each workspace that has sent from it.
 */
async function workspacesOf(read: Read, { config }: Call, subject: string): Promise<readonly string[]> {
  const isConfigured = listConfiguredSources(config.outbound).some(({ address }) => canonical(address) === subject)
  const found = (await listRows(read)).flatMap((row) => (row.subject === subject ? [row.workspace_id] : []))
  const workspaces = new Set([...found, ...(isConfigured ? [SERVICE_WORKSPACE] : [])])
  if (workspaces.size > 0) return [...workspaces]
  throw new CommandFailed(`${subject} is not a source address of the configuration, and nothing was counted for it`)
}
