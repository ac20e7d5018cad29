import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { openNotifySocket } from '../../../../src/base/platform/processes/notify-socket.js'
import { temporaryFolder } from '../../../helpers/database/database.js'
import { skipWithout } from '../../../helpers/programs/skip-without.js'

const receiver = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace('@', '\\0'))
print('bound', flush=True)
while True:
    print(repr(s.recv(4096).decode()), flush=True)`

/** Stands for systemd; its lines are the datagrams. */
async function listen(t: Test, path: string): Promise<AsyncIterator<string>> {
  const systemd = spawn('python3', ['-c', receiver, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => systemd.kill())
  const lines = createInterface(systemd.stdout)[Symbol.asyncIterator]()
  t.equal((await lines.next()).value, 'bound')
  return lines
}

t.test('each message is one datagram, a line for each part', { skip: skipWithout('python3') }, async (t) => {
  for (const path of [join(temporaryFolder(t), 'notify'), `@posthorn-test-${process.pid}`]) {
    const datagrams = await listen(t, path)
    const warnings: unknown[] = []
    const socket = openNotifySocket(path, { warn: (...words: unknown[]) => void warnings.push(words) })
    socket.send('READY=1', 'STATUS=two\nlines')
    t.equal((await datagrams.next()).value, "'READY=1\\nSTATUS=two lines\\n'", path)
    socket.send('WATCHDOG=1')
    t.equal((await datagrams.next()).value, "'WATCHDOG=1\\n'")
    socket.close()
    t.same(warnings, [])
  }
})

t.test('a socket that is not there is logged once, and the daemon goes on', async (t) => {
  for (const path of [join(temporaryFolder(t), 'absent'), '@absent', 'relative', `/${'x'.repeat(108)}`]) {
    const warnings: unknown[] = []
    const socket = openNotifySocket(path, { warn: (about: unknown) => void warnings.push(about) })
    socket.send('READY=1')
    socket.send('STOPPING=1')
    socket.close()
    t.match(warnings, [{ socket: path, error: /./ }], path)
  }
})

t.test('without systemd nothing is sent', async (t) => {
  const socket = openNotifySocket(null, { warn: () => t.fail('no warning is due') })
  socket.send('READY=1')
  socket.close()
})
