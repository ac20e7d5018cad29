// Posthorn as one side of a comparison: the real daemon, with a DKIM key and no special mode.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { bundleOnce } from '../lib/bundled.mjs'
import { setUpDaemon, stopDaemon } from '../lib/daemon.mjs'
import { listening } from '../lib/processes.mjs'

export const posthorn = { name: 'Posthorn', start }
/** The two engines, for a comparison. */
export const engines = [
  { name: 'with PostgreSQL', start: (how) => start({ ...how, storage: 'postgres' }) },
  { name: 'with SQLite', start },
]

/** This build and one in another folder, each with a file for each module, for a comparison. */
export function buildsBeside(build) {
  return [
    { name: 'this build', start: (how) => start({ ...how, build: '.' }) },
    { name: basename(build), start: (how) => start({ ...how, build }) },
  ]
}

/** Flags of Node.js, from BENCH_NODE_FLAGS. */
export const nodeFlags = process.env['BENCH_NODE_FLAGS']?.split(' ') ?? []

/**
 * `routes`: more domains with the address and port of their host. `settings`: more sections of
 * the configuration. `prepare`: changes the database before the daemon opens it. `storage`: "postgres" starts a server for the
 * data. `build`: the folder of another build than the bundle of this one.
 */
async function start({ folder, sink, deliver, routes = {}, settings = {}, prepare, storage, build }) {
  const home = mkdtempSync(join(folder, 'posthorn-'))
  const outbound = {
    routes: { 'sink.test': `127.0.0.1:${sink}`, ...routes },
    max_connections: deliver ? 100 : 1,
    max_connections_per_host: 20,
  }
  const server = await startStorage(home, storage)
  const made = await setUpDaemon({
    ...{ folder: home, domain: 'bench.test', settings: { outbound, ...settings } },
    storage: server.url,
    build: build ?? (await bundleOnce()),
  })
  await prepare?.(made)
  let daemon = made.start({ flags: nodeFlags })
  await listening(made.ports.submission)
  return {
    port: made.ports.submission,
    command: made.command,
    api: { port: made.ports.api, key: made.key, ca: made.ca },
    pids: () => [daemon.pid],
    storagePids: server.pids,
    /** Ends the daemon by a signal and starts it again, with the same data; resolves when the new process exists. */
    restart: async (signal) => {
      daemon.kill(signal)
      await once(daemon, 'exit')
      daemon = made.start({ flags: nodeFlags })
    },
    stop: async () => {
      await stopDaemon(daemon)
      await server.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** A server with an empty database, if `storage` asks for one. It loses nothing in a crash. */
export async function startStorage(home, storage) {
  if (storage !== 'postgres') return { url: '', pids: () => [], stop: () => undefined }
  const { PostgresServer } = await import('../../dist/test/helpers/programs/postgres.js')
  const server = await PostgresServer.start({ folder: join(home, 'postgres'), isDurable: true })
  await server.createDatabase('bench')
  return { url: server.urlOf('bench'), pids: () => [server.pid], stop: () => server.stop() }
}
