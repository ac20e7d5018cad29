/**
 * Ends codes whose sender died. We may have asked the provider or not, and the client has no answer.
 *
 * It runs at the start, before the daemon takes requests, and every hour for codes whose outcome could not be
 * written.
 */
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import { tryCommit } from '../../base/storage/db/write.js'
import { recordSmsFailed } from './sms-events.js'
import { type CodeRow, listSendingCodes, voidCode } from './sms-records.js'

interface RecoveryDeps extends Store {
  readonly log: Log
}

const BATCH_SIZE = 100

/** Ends codes that were created before this moment. Resolves to how many it ended. */
export async function recoverCodes(
  deps: RecoveryDeps,
  { before, now }: { readonly before: number; readonly now: number },
): Promise<number> {
  let ended = 0
  let after = ''
  for (;;) {
    const codes = await listSendingCodes(deps.read, { after, before, limit: BATCH_SIZE })
    for (const code of codes) if (await endCode(deps, code, now)) ended += 1
    after = codes.at(-1)?.id ?? after
    if (codes.length < BATCH_SIZE) return ended
  }
}

/** False means that another process settled the code, or that its workspace was erased. */
async function endCode({ commit, log }: RecoveryDeps, code: CodeRow, at: number): Promise<boolean> {
  const { id, workspace_id: workspaceId } = code
  const voided = voidCode({ id, workspaceId, reason: 'interrupted', at })
  const isEnded = await tryCommit(commit([voided, recordSmsFailed(code, 'interrupted', at)]))
  if (isEnded) log.warn({ sms_id: id, workspace_id: workspaceId, reason: 'interrupted' }, 'code not sent')
  return isEnded
}
