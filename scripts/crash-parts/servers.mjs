// Where the data of a daemon is, if it is not in a file: a server of PostgreSQL, or a pair of which one follows the other.
//
// They lose nothing when they are ended like this, and a primary answers a commit when its standby has it on disk too.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const DATABASE = 'crash'
/** The name under which a standby connects, for which commits wait. */
const STANDBY = 'crash_standby'
const PAIR = [`cluster_name=${STANDBY}`, `synchronous_standby_names=${STANDBY}`, 'synchronous_commit=on']

/**
 * `url`: for storage.url. `cut` ends the server that takes writes as a crash does, and resolves when there is one again, after
 * so many milliseconds without any.
 */
export async function startServers(folder, { isPair }) {
  const { PostgresServer } = await import('../../dist/test/helpers/programs/postgres.js')
  const first = await PostgresServer.start(optionsOf(folder, 'one', isPair))
  return isPair ? openPair(folder, first) : openSingle(first)
}

async function openSingle(server) {
  await server.createDatabase(DATABASE)
  return {
    url: server.urlOf(DATABASE),
    pids: () => [server.pid],
    cut: async (pause) => {
      await server.stop('immediate')
      await sleep(pause)
      await server.restart()
    },
  }
}

/** The one that was ended becomes the standby of the other, from a new copy. */
async function openPair(folder, first) {
  const second = await first.startStandby(optionsOf(folder, 'two', true))
  let [primary, standby] = [first, second]
  await untilFollowed(primary)
  await primary.createDatabase(DATABASE)
  return {
    url: `postgres://postgres@127.0.0.1:${first.port},127.0.0.1:${second.port}/${DATABASE}?target_session_attrs=read-write`,
    pids: () => [primary.pid, standby.pid],
    cut: async (pause) => {
      const { folder: left, port } = primary
      await primary.stop('immediate')
      await sleep(pause)
      primary = standby
      await primary.promote()
      rmSync(join(left, 'data'), { recursive: true })
      standby = await primary.startStandby({ ...optionsOf('', '', true), folder: left, port })
      await untilFollowed(primary)
    },
  }
}

function optionsOf(folder, name, isPair) {
  return { folder: join(folder, name), isDurable: true, settings: isPair ? PAIR : [] }
}

/** Resolves when the commits of the primary wait for the standby. */
async function untilFollowed(primary) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const rows = await primary.run(`select 1 from pg_stat_replication where sync_state = 'sync'`)
    if (rows.length > 0) return
    await sleep(100)
  }
  throw new Error('the standby has not followed within a minute')
}
