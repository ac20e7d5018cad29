/** The file of messages in progress: it names them at any moment, and soon no others. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CrashGuard } from '../../../../src/inbound/receiving/analysis/crash-guard.js'
import { temporaryFolder } from '../../../helpers/database/database.js'
import { waitUntil } from '../../../helpers/wait-until.js'

interface Guarded {
  readonly guard: CrashGuard
  readonly file: string
  /** The ids in the file. */
  readonly named: () => readonly string[]
  readonly warnings: unknown[]
}

function openGuard(t: Test): Guarded {
  const file = join(temporaryFolder(t), 'in-hand')
  const warnings: unknown[] = []
  const guard = new CrashGuard(file, { warn: (...line: unknown[]) => warnings.push(line) })
  const named = (): readonly string[] =>
    readFileSync(file, 'latin1')
      .split('\n')
      .flatMap((line) => line.trim().split(' ')[3] ?? [])
  return { guard, file, named, warnings }
}

const message = (id: string) => ({ id, workspaceId: 'ws_1' })

t.test('the slot of a finished message is that of the next one, or is cleared soon', async (t) => {
  const { guard, named } = openGuard(t)
  guard.begin(message('one'))
  guard.begin(message('two'))
  t.same(named(), ['one', 'two'])
  guard.finish('one')
  guard.begin(message('three'))
  t.same(named(), ['three', 'two'])
  guard.finish('two')
  guard.finish('three')
  await waitUntil('the slots are cleared', () => named().length === 0)
  guard.begin(message('four'))
  t.same(named(), ['four'])
  guard.close()
})

t.test('whatever was in progress at a crash is suspected, with the number of crashes', async (t) => {
  const { guard, file } = openGuard(t)
  guard.begin(message('one'))
  guard.begin(message('two'))
  guard.finish('two')
  await waitUntil('its slot is cleared', () => !readFileSync(file, 'latin1').includes('two'))
  const log = { warn: () => undefined }
  const second = new CrashGuard(file, log)
  t.same(second.suspects, [{ id: 'one', workspaceId: 'ws_1', deaths: 1 }])
  second.begin(message('one'))
  t.same(new CrashGuard(file, log).suspects, [{ id: 'one', workspaceId: 'ws_1', deaths: 2 }])
})

t.test('after its end nothing is written', async (t) => {
  const { guard, file, warnings } = openGuard(t)
  guard.begin(message('one'))
  guard.close()
  guard.finish('one')
  guard.begin(message('two'))
  t.equal(readFileSync(file, 'latin1'), '')
  t.same(warnings, [])
})
