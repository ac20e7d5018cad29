/** Checks the work of the service: leases of the queue, webhooks, held prefixes of phone numbers. */

import { formatTimestamp } from '../../../base/platform/clock.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import { readExpiredLeases } from '../../../records/messages/queue/expired-leases.js'
import { listHolds, type PrefixHold } from '../../../workspaces/sms/holds.js'
import { readWebhookBacklog } from '../../../workspaces/webhooks/webhook-backlog.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, warning } from '../finding.js'

/** Events that the slowest webhook may be behind. */
const MAX_BEHIND = 10_000
/** Holds that are named. */
const MAX_HOLDS = 20

export const workChecks: readonly Check[] = [
  { name: 'leases', summary: 'no entry of the queue is stuck in an attempt', run: checkLeases },
  { name: 'webhooks', summary: 'webhooks deliver their events in time', run: checkWebhooks },
  { name: 'sms', summary: 'no prefix of phone numbers is held', run: checkHolds },
]

async function checkLeases({ config, read, clock }: CheckDeps): Promise<readonly Judgement[]> {
  if (read === null) return []
  const expired = await readExpiredLeases(read, { node: nodeNameOf(config), now: clock() })
  return [judgeLeases(expired, isDataFolderHeld(config.service.data_dir))]
}

/** The name under which the daemon of this machine delivers. */
function nodeNameOf({ storage, node }: CheckDeps['config']): string {
  return storage.url === '' ? '' : node.name
}

export function judgeLeases(
  { count, oldestId }: Awaited<ReturnType<typeof readExpiredLeases>>,
  isRunning: boolean,
): Judgement {
  if (count === 0) return good('queue', 'no lease has expired')
  const text = `${count} ${count === 1 ? 'entry is' : 'entries are'} leased to an attempt that has ended`
  if (!isRunning) return good('queue', `${text}; the next start of the daemon attempts them again`)
  return failure('queue', text, [`posthorn queue show ${oldestId ?? ''}`, 'systemctl restart posthorn'])
}

async function checkWebhooks({ read }: CheckDeps): Promise<readonly Judgement[]> {
  return read === null ? [] : [judgeWebhooks(await readWebhookBacklog(read))]
}

export function judgeWebhooks({
  webhooks,
  failing,
  behind,
}: Awaited<ReturnType<typeof readWebhookBacklog>>): Judgement {
  const text = `${failing} of ${webhooks} that are enabled fail; the slowest is ${behind} ${behind === 1 ? 'event' : 'events'} behind`
  if (failing === 0 && behind <= MAX_BEHIND) return good('webhooks', text)
  return warning('webhooks', text, [
    "journalctl -u posthorn --grep='a webhook'",
    '# the workspace sees its deliveries at /ui/webhooks, and can repair the endpoint or disable the webhook',
  ])
}

async function checkHolds({ read, clock }: CheckDeps): Promise<readonly Judgement[]> {
  if (read === null) return []
  const holds = await listHolds(read, clock())
  return holds.length === 0 ? [good('prefixes', 'no prefix is held')] : holds.slice(0, MAX_HOLDS).map(judgeHold)
}

export function judgeHold({
  prefix,
  workspace_id: workspaceId,
  sent,
  verified,
  until_at: until,
}: PrefixHold): Judgement {
  return warning(
    `${prefix} of ${workspaceId}`,
    `Posthorn sends no codes until ${formatTimestamp(until)}, because only ${verified} of ${sent} codes were verified`,
    [`posthorn sms release ${prefix} --workspace ${workspaceId}   # if the traffic was expected`],
  )
}
