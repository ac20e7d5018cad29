/** A command says whether the daemon has noticed its change. */
import { join } from 'node:path'
import t from 'tap'
import { ChangeFollower, readAnnouncedChange } from '../../../../src/base/storage/db/change-acknowledgement.js'
import { lockDataFolder } from '../../../../src/base/storage/db/data-lock.js'
import { openDatabase } from '../../../../src/base/storage/open.js'
import type { Answer } from '../../../../src/operations/cli/command/command.js'
import { findDaemonOf, withNotice } from '../../../../src/operations/cli/command/daemon-notice.js'
import { createInstallation, setUpWorkspace } from '../../../helpers/cli/command-line.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.test('a command says whether the daemon has noticed what it changed', async (t) => {
  const { run, data } = createInstallation(t)
  await setUpWorkspace(run)
  const database = await openDatabase({ file: join(data, 'posthorn.db') })
  t.teardown(() => database.close())
  const answer: Answer = { json: null, lines: ['done'] }
  const answerAfterCommit = async (): Promise<Answer> => {
    const { database: asked, afterNotice } = withNotice(database, findDaemonOf(data), 100)
    t.same(await afterNotice(answer), answer, 'nothing was changed')
    await asked.commit([])
    return afterNotice(answer)
  }
  t.same((await answerAfterCommit()).lines, ['done', 'No daemon runs here: it counts from the next start.'])
  const lock = lockDataFolder(data)
  t.teardown(() => lock.release())
  t.match(
    await answerAfterCommit(),
    { failed: true, lines: ['done'], warnings: [/has not taken note/] },
    'it is held, and silent',
  )
  const again = answerAfterCommit()
  const changes = new ChangeFollower({
    ...{ database, log: { error: () => t.fail() } },
    putInForce: () => Promise.resolve(),
  })
  await waitUntil('it is asked for', async () => (await readAnnouncedChange(database.read)) === 3)
  await changes.follow()
  t.same(await again, answer)
})
