// smtp-server without an application: it reads a message, stores nothing, answers 250.
//
// Its time for a message is the minimum of every server built on it. Started with a port it
// is that server; imported it is a side of a comparison.
import { fileURLToPath } from 'node:url'
import { SMTPServer } from 'smtp-server'
import { startProgram } from './processes.mjs'

const program = fileURLToPath(import.meta.url)

export const floor = { name: 'smtp-server alone', start: () => startProgram(program) }

if (process.argv[1] === program) {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    onData: (stream, _session, done) => stream.on('end', () => done(null, 'ok')).resume(),
  })
  server.listen(Number(process.argv[2]), '127.0.0.1')
}
