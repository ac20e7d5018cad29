// The daemon of a build, with a workspace and a domain, and a probe of its event loop.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setUpDaemon, stopDaemon } from '../lib/daemon.mjs'
import { freePort, listening } from '../lib/processes.mjs'

const probe = resolve('scripts/blocks-parts/delay-probe.cjs')
const flags = [...(process.env['BLOCKS_NODE_FLAGS']?.split(' ') ?? []), '--require', probe]

/** `build`: a folder with `dist/`. */
export async function startDaemon(build) {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-blocks-'))
  const sink = await freePort()
  const settings = ({ api }) => ({
    api: { listen: [`http://127.0.0.1:${api}`] },
    outbound: { routes: { 'sink.test': `127.0.0.1:${sink}` } },
    log: { level: 'error' },
  })
  const { start, ports, key } = await setUpDaemon({ folder, domain: 'blocks.test', settings, build })
  const daemon = start({ flags, stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env: process.env })
  await listening(ports.submission)
  return {
    ...{ api: ports.api, smtp: ports.submission, key },
    /** Milliseconds of the longest block since the last call, and of the processor time of the longest turn. */
    readBlock: async () => {
      const answer = once(daemon, 'message')
      daemon.send('read')
      return (await answer)[0]
    },
    stop: async () => {
      await stopDaemon(daemon)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
