/** `node list|drain|remove`: the daemons that work on one database of PostgreSQL. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import {
  askToDrain,
  countOwnedEntries,
  forgetNode,
  isLiving,
  type NodeRow,
  readNodes,
} from '../../../base/storage/postgres/node-rows.js'
import { showNodes } from '../../../base/storage/postgres/node-view.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  flagOption,
  refuseExtraWords,
  requiredWord,
} from '../command/command.js'
import { formatTable } from '../command/table.js'

/** Milliseconds between looks at a node that drains. */
const LOOK_INTERVAL = 250
/** Milliseconds for which the command waits for a node that drains. */
const MAX_WAIT = 10 * 60_000

export async function list({ words, database, config }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  requireServer(config)
  const { read } = await database()
  const [nodes, entries] = await Promise.all([readNodes(read), countOwnedEntries(read)])
  const data = showNodes(nodes, entries)
  const rows = data.map((node) => [
    ...[node.name, node.state, node.version, node.last_beat ?? '-', String(node.entries)],
    ...[node.leads ? 'yes' : 'no', node.adopted_by ?? '-'],
  ])
  const head = ['NAME', 'STATE', 'VERSION', 'LAST BEAT', 'ENTRIES', 'LEADS', 'ADOPTED BY']
  return { json: { data }, lines: data.length === 0 ? ['no daemon has worked yet'] : formatTable(head, rows) }
}

export async function drain({ words, options, database, config, showProgress }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  requireServer(config)
  const name = requiredWord(words, 0, 'NAME')
  const { read, commit } = await database()
  const nodes = await readNodes(read)
  const node = requireNode(nodes, name)
  if (!isLiving(node)) {
    throw new CommandFailed(`node ${name} does not live: others adopt what it has 30 s after its last beat`)
  }
  if (!nodes.some((other) => other.name !== name && isLiving(other) && other.state === 'working')) {
    throw new CommandFailed('no other node works that could take its entries: start one first')
  }
  await tryCommit(commit(askToDrain(name)))
  const left = flagOption(options, 'no-wait')
    ? await countLeft(read, name)
    : await waitUntilEmpty(read, name, showProgress)
  const state = requireNode(await readNodes(read), name).state
  const isDone = state === 'drained' && left === 0
  return {
    json: { name, state, entries: left },
    lines: [
      isDone
        ? `node ${name} is drained: it may be stopped. It works again when it is started again`
        : `node ${name} is ${state}, and has ${left} entries`,
    ],
    failed: !isDone && !flagOption(options, 'no-wait'),
  }
}

export async function remove({ words, database, config }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  requireServer(config)
  const name = requiredWord(words, 0, 'NAME')
  const { read, commit } = await database()
  const node = requireNode(await readNodes(read), name)
  if (isLiving(node)) throw new CommandFailed(`node ${name} lives: drain and stop it first`)
  if (node.adopted_by === null) {
    throw new CommandFailed(
      `no other node has adopted ${name} yet: that needs one that works, 30 s after its last beat`,
    )
  }
  if (!(await tryCommit(commit(forgetNode(name))))) {
    throw new CommandFailed(`node ${name} has come back, or still has entries: look again with "posthorn node list"`)
  }
  return { json: { name, removed: true }, lines: [`node ${name} is removed`] }
}

function requireServer({ storage }: Call['config']): void {
  if (storage.url !== '') return
  throw new CommandFailed('storage.url is not set: on SQLite one daemon works, and it has no name')
}

function requireNode(nodes: readonly NodeRow[], name: string): NodeRow {
  const found = nodes.find((node) => node.name === name)
  if (found !== undefined) return found
  const known = nodes.map((node) => node.name).join(', ')
  throw new CommandFailed(`NAME: no node is named "${name}"; allowed: ${known === '' ? 'none has worked yet' : known}`)
}

async function countLeft(read: Read, name: string): Promise<number> {
  return (await countOwnedEntries(read)).get(name) ?? 0
}

async function waitUntilEmpty(read: Read, name: string, showProgress: Call['showProgress']): Promise<number> {
  const end = performance.now() + MAX_WAIT
  for (;;) {
    const { state } = requireNode(await readNodes(read), name)
    const left = await countLeft(read, name)
    if ((state === 'drained' && left === 0) || state === 'working' || performance.now() > end) return left
    showProgress(`node ${name} is ${state}: ${left} entries are left`)
    await pause(LOOK_INTERVAL)
  }
}
