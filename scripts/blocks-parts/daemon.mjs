// The daemon of a build, with a workspace, a domain, a template and an audience, and a probe of its event loop.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort, listening } from '../bench-parts/processes.mjs'

const probe = resolve('scripts/blocks-parts/delay-probe.cjs')

/** `build`: a folder with `dist/`. */
export async function startDaemon(build) {
  const data = mkdtempSync(join(tmpdir(), 'posthorn-blocks-'))
  const [api, smtp, sink] = [await freePort(), await freePort(), await freePort()]
  const file = join(data, 'posthorn.toml')
  const write = (trusted) => writeFileSync(file, configuration({ data, api, smtp, sink, trusted }))
  write('')
  const program = resolve(build, 'dist/src/main.js')
  const run = (...words) =>
    JSON.parse(execFileSync(process.execPath, [program, ...words, '--json', '--config', file], { encoding: 'utf8' }))
  const { workspace_id: workspace, api_key: key } = run(
    'setup',
    '--workspace',
    'Blocks',
    '--email',
    'owner@blocks.test',
  )
  run('domain', 'add', 'blocks.test', '--force')
  write(`[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${workspace}"\n`)
  const daemon = spawn(
    process.execPath,
    [...(process.env['BLOCKS_NODE_FLAGS']?.split(' ') ?? []), '--require', probe, program, 'serve', '--config', file],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  )
  await listening(smtp)
  return {
    ...{ api, smtp, key },
    /** Milliseconds of the longest block since the last call, and of the processor time of the longest turn. */
    readBlock: async () => {
      const answer = once(daemon, 'message')
      daemon.send('read')
      return (await answer)[0]
    },
    stop: async () => {
      daemon.kill('SIGTERM')
      await Promise.race([once(daemon, 'exit'), new Promise((late) => setTimeout(late, 30_000))])
      daemon.kill('SIGKILL')
      rmSync(data, { recursive: true, force: true })
    },
  }
}

const configuration = ({ data, api, smtp, sink, trusted }) => `
[service]
hostname = "mail.blocks.test"
data_dir = ${JSON.stringify(data)}
[api]
listen = ["http://127.0.0.1:${api}"]
[submission]
listen = ["127.0.0.1:${smtp}"]
listen_tls = []
[inbound]
listen = []
${trusted}
[outbound]
routes = { "sink.test" = "127.0.0.1:${sink}" }
[log]
level = "error"
`
