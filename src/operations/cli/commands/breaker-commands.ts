/** `breaker list|release`: mail that is held because of bounces or complaints. */

import { formatTimestamp } from '../../../base/platform/clock.js'
import { listScopes, type ShownScope } from '../../../outbound/breaker/list-scopes.js'
import { releaseById } from '../../../outbound/breaker/release-scope.js'
import { StoredBroadcasts } from '../../../outbound/broadcasts/broadcast-switch.js'
import { operatorActor } from '../../../workspaces/accounts/access/audit-log.js'
import { allWorkspaces } from '../../../workspaces/accounts/workspace/workspaces.js'
import { type Answer, type Call, refuseExtraWords, requiredWord, textOption } from '../command/command.js'
import { formatTable } from '../command/table.js'
import { chooseWorkspace } from '../command/workspace-choice.js'

export async function list({ words, options, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await database()
  const one = textOption(options, 'workspace') === undefined ? null : await chooseWorkspace(read, options)
  const ids = one === null ? (await allWorkspaces(read, {})).map(({ id }) => id) : [one]
  const now = clock()
  const shown: (ShownScope & { readonly workspace: string })[] = []
  for (const workspace of ids) {
    shown.push(...(await listScopes(read, workspace, now)).map((scope) => ({ workspace, ...scope })))
  }
  return {
    json: { data: shown.map((one) => ({ ...one, since: one.since === null ? null : formatTimestamp(one.since) })) },
    lines: [
      ...formatTable(
        ['WORKSPACE', 'SCOPE', 'ID', 'STATE', 'SETTLED', 'BOUNCED', 'DELIVERED', 'COMPLAINTS', 'REASON'],
        shown.map(toCells),
      ),
      `${shown.filter(({ state }) => state === 'held').length} held`,
    ],
  }
}

function toCells({ workspace, scope, id, state, figures, reason }: ShownScope & { readonly workspace: string }) {
  const { settled, bounced, delivered, complained } = figures
  return [workspace, scope, id, state, ...[settled, bounced, delivered, complained].map(String), reason ?? '']
}

export async function release({ words, options, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const id = requiredWord(words, 0, 'ID')
  const { read, commit } = await database()
  const workspaceId = await chooseWorkspace(read, options)
  const deps = { read, commit, broadcasts: new StoredBroadcasts(read) }
  const released = await releaseById(deps, { workspaceId, id, actor: operatorActor, now: clock() })
  return {
    json: { data: released.map(({ scope, subject }) => ({ workspace: workspaceId, scope, id: subject })) },
    lines: released.map(({ scope, subject }) => `mail of the ${scope} ${subject} is sent again`),
  }
}
