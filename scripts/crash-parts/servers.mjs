// Where the data of a daemon is, if it is not in a file: a server of PostgreSQL, or a pair of which one follows the other.
//
// They lose nothing when they are ended like this, and a primary answers a commit when its standby has it on disk too.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../lib/processes.mjs'
import { openRelay } from './relay.mjs'

const DATABASE = 'crash'
/** The name under which a standby connects, for which commits wait. */
const STANDBY = 'crash_standby'
const PAIR = [`cluster_name=${STANDBY}`, `synchronous_standby_names=${STANDBY}`, 'synchronous_commit=on']

/**
 * `url`: for storage.url, over a relay; `ports`, `database` and the address of the one that takes writes, `direct`, are without one. `cut` ends the server that takes writes as a crash does, and resolves when there is one again, after
 * `pause` milliseconds without any. Its answers are lost for `muted` milliseconds before: what it commits then, nobody is told.
 * `end` ends all that runs, at once. A single one has its `server` and `relay` too.
 */
export async function startServers(folder, { isPair }) {
  const { PostgresServer } = await import('../../dist/test/helpers/programs/postgres.js')
  const first = await PostgresServer.start(optionsOf(folder, 'one', isPair))
  return isPair ? openPair(folder, first) : openSingle(first)
}

async function openSingle(server) {
  await server.createDatabase(DATABASE)
  const relay = await openRelay(server.port)
  return {
    url: urlOf([relay]),
    ports: [server.port],
    database: DATABASE,
    direct: () => server.urlOf(DATABASE),
    end: () => endAll([server]),
    cut: async ({ pause, muted }) => {
      await loseAnswers(relay, muted, () => server.stop('immediate'))
      await sleep(pause)
      await server.restart()
    },
    server,
    relay,
  }
}

/**
 * Three places of which two are used, and a new standby is made at the third. Every other time the primary falls silent with all
 * its connections, as if its machine had lost its power, and stays so until the next time.
 */
async function openPair(folder, first) {
  const free = [
    first,
    { folder: join(folder, 'two'), port: await freePort() },
    { folder: join(folder, 'three'), port: await freePort() },
  ]
  const relays = new Map()
  for (const { port } of free) relays.set(port, await openRelay(port))
  const follow = async (leader, { folder: place, port }) => {
    const follower = await leader.startStandby({ ...optionsOf('', place, true), port })
    await untilFollowed(leader)
    return follower
  }
  let [primary, gone] = [free.shift(), null]
  let standby = await follow(primary, free.shift())
  await primary.createDatabase(DATABASE)
  let cuts = 0
  return {
    url: urlOf([...relays.values()]),
    ports: [...relays.keys()],
    database: DATABASE,
    direct: () => primary.urlOf(DATABASE),
    end: () => endAll([primary, standby, gone]),
    cut: async ({ pause, muted }) => {
      await gone?.stop('immediate')
      cuts += 1
      const end = cuts % 2 === 0 ? () => primary.freeze() : () => primary.stop('immediate')
      await loseAnswers(relays.get(primary.port), muted, end)
      await sleep(pause)
      gone = primary
      primary = standby
      await primary.promote()
      const place = free.shift()
      free.push(gone)
      rmSync(join(place.folder, 'data'), { recursive: true, force: true })
      standby = await follow(primary, place)
    },
  }
}

function urlOf(relays) {
  const hosts = relays.map(({ host }) => host).join(',')
  return `postgres://postgres@${hosts}/${DATABASE}?target_session_attrs=read-write`
}

async function loseAnswers(relay, milliseconds, end) {
  if (milliseconds === 0) return end()
  await relay.mute(true)
  await sleep(milliseconds)
  await end()
  await relay.mute(false)
}

function endAll(servers) {
  for (const server of servers.filter((one) => one?.isRunning)) {
    process.kill(server.pid, 'SIGQUIT')
    server.thaw()
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
