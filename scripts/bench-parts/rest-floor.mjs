// Node's HTTPS server without an application: it reads a body, stores nothing, answers 201.
//
// Its time for a request is the minimum of every API built on it. Started with a port and a folder it is that server;
// imported it is a side of a comparison.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generate } from 'selfsigned'
import { freePort } from './processes.mjs'

const program = fileURLToPath(import.meta.url)

export const restFloor = {
  name: 'HTTPS alone',
  start: async ({ folder }) => {
    const data = mkdtempSync(join(folder, 'https-'))
    const pair = await generate([{ name: 'commonName', value: 'mail.bench.test' }], { keyType: 'ec' })
    writeFileSync(join(data, 'cert.pem'), pair.cert)
    writeFileSync(join(data, 'key.pem'), pair.private)
    const port = await freePort()
    const child = spawn(process.execPath, [program, String(port), data], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    return {
      api: { port, key: 'none', ca: join(data, 'cert.pem') },
      pids: () => [child.pid],
      stop: async () => {
        child.kill()
        await once(child, 'exit')
        rmSync(data, { recursive: true })
      },
    }
  },
}

if (process.argv[1] === program) {
  const [port, data] = process.argv.slice(2)
  const pair = { cert: readFileSync(join(data, 'cert.pem')), key: readFileSync(join(data, 'key.pem')) }
  const payload = JSON.stringify({
    id: '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee',
    from: 'app@bench.test',
    to: ['a@b.test'],
  })
  const fields = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': payload.length }
  const server = createServer(pair, (request, response) => {
    request.on('end', () => response.writeHead(201, fields).end(payload)).resume()
  })
  server.listen(Number(port), '127.0.0.1', () => process.stdout.write('listening\n'))
}
