/** Checks the nodes on a database of PostgreSQL: the others have what a silent one had, and all are of one version. */
import { DAY, HOUR, MINUTE } from '../../../base/platform/time-units.js'
import { isLiving, type NodeRow, readNodes } from '../../../base/storage/postgres/node-rows.js'
import { stateOf } from '../../../base/storage/postgres/node-view.js'
import type { Check, CheckDeps } from '../check.js'
import { good, type Judgement, warning } from '../finding.js'

/** Milliseconds after which a node that does not live should be adopted. */
const MAX_UNADOPTED = MINUTE
/** Milliseconds for which an adopted node may stay in the list. */
const MAX_LEFT = 3 * DAY
/** Milliseconds for which versions may differ. */
const MAX_UPGRADE = DAY

export const nodeChecks: readonly Check[] = [
  { name: 'nodes', summary: 'with PostgreSQL: the nodes live, and are of one version', run: checkNodes },
]

async function checkNodes({ config, read, clock }: CheckDeps): Promise<readonly Judgement[]> {
  if (config.storage.url === '' || read === null) return []
  return judgeNodes(await readNodes(read), clock())
}

export function judgeNodes(nodes: readonly NodeRow[], now: number): readonly Judgement[] {
  const living = nodes.filter(isLiving)
  const wrong = [
    ...nodes.filter((node) => !isLiving(node)).flatMap((node) => judgeAbsent(node, now)),
    ...judgeVersions(living, now),
  ]
  if (wrong.length > 0) return wrong
  const leader = nodes.find(({ leads }) => leads === 1)
  return [good('nodes', `${living.length} of ${nodes.length} live; ${leader?.name ?? 'none'} leads`)]
}

function judgeAbsent(node: NodeRow, now: number): readonly Judgement[] {
  const { name, adopted_by: by, adopted_at: adoptedAt, silence } = node
  if (by === null || adoptedAt === null) {
    if (silence * 1_000 <= MAX_UNADOPTED) return []
    const text = `it is ${stateOf(node)}, and no node has adopted it: its queue waits`
    return [warning(name, text, [`systemctl start posthorn   # on the machine of ${name}`, 'posthorn node list'])]
  }
  const left = now - adoptedAt
  if (left <= MAX_LEFT) return []
  const text = `it has not worked for ${Math.floor(left / DAY)} days; ${by} has adopted what it had`
  return [warning(name, text, [`posthorn node remove ${name}   # if it does not come back`])]
}

/** Versions differ since the second of them came. */
function judgeVersions(living: readonly NodeRow[], now: number): readonly Judgement[] {
  const since = new Map<string, number>()
  for (const { version, joined_at: at } of living) since.set(version, Math.min(at, since.get(version) ?? at))
  const [, second] = [...since.values()].toSorted((one, other) => one - other)
  if (second === undefined || now - second <= MAX_UPGRADE) return []
  const hours = Math.floor((now - second) / HOUR)
  const versions = living.map(({ name, version }) => `${name} ${version}`).join(', ')
  return [
    warning('versions', `nodes have been of different versions for ${hours} hours: ${versions}`, [
      'posthorn node drain NAME   # then stop it, install the newest version, and start it',
    ]),
  ]
}
