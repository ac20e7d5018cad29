/** Which files of a folder of backups are removed: those that are known, unchanged and too old; nothing else. */
import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { backupName, removeOldPartials, rotateBackups } from '../../../../src/base/storage/maintenance/backup-folder.js'
import { temporaryFolder } from '../../../helpers/database/database.js'

const DAY = 86_400_000
const begin = Date.parse('2026-11-23T02:00:00.123Z')

t.test('the oldest known backups are removed', (t) => {
  const folder = temporaryFolder(t)
  t.equal(backupName(begin), 'posthorn-20261123T020000Z.db')
  const foreign = ['posthorn-20200101T000000Z.db', 'notes.txt', 'posthorn.db']
  for (const name of foreign) writeFileSync(join(folder, name), 'x')
  const add = (day: number, keep: number | null): string[] => {
    const name = backupName(begin + day * DAY)
    writeFileSync(join(folder, name), 'copy')
    return rotateBackups(folder, { name, bytes: 4 }, keep)
  }
  t.same(add(0, 2), [])
  t.same(add(1, 2), [])
  t.same(add(2, 2), ['posthorn-20261123T020000Z.db'])
  t.same(add(3, null), [], 'without a number, nothing is removed')
  writeFileSync(join(folder, backupName(begin + DAY)), 'replaced by another program')
  t.same(add(4, 1), ['posthorn-20261125T020000Z.db', 'posthorn-20261126T020000Z.db'])
  const left = readdirSync(folder).filter((name) => !name.startsWith('.'))
  t.same(left, [...foreign, 'posthorn-20261124T020000Z.db', 'posthorn-20261127T020000Z.db'].toSorted())
  t.end()
})

t.test('after the clock was set back, the new backup stays', (t) => {
  const folder = temporaryFolder(t)
  const removed = [5, 6, 1].map((day) => {
    const name = backupName(begin + day * DAY)
    writeFileSync(join(folder, name), 'copy')
    return rotateBackups(folder, { name, bytes: 4 }, 2)
  })
  t.same(removed, [[], [], [backupName(begin + 5 * DAY)]])
  t.end()
})

t.test('what killed backups have left is removed after a day', (t) => {
  const folder = temporaryFolder(t)
  const old = [
    'posthorn-20261121T020000Z.db.partial-77',
    'posthorn-20261121T020000Z.db.partial-77-journal',
    'posthorn.db.backup-77',
    'posthorn.db.backup-77.partial-77',
  ]
  const stay = ['posthorn-20261121T020000Z.db', 'other.db.partial-77', 'posthorn.db', 'posthorn.db.before-20261121']
  const young = 'posthorn-20261123T020000Z.db.partial-78'
  for (const name of [...old, ...stay, young]) {
    writeFileSync(join(folder, name), 'x')
    const at = (begin - (name === young ? 1 : 25) * 3_600_000) / 1000
    utimesSync(join(folder, name), at, at)
  }
  removeOldPartials(folder, begin)
  t.same(readdirSync(folder).toSorted(), [...stay, young].toSorted())
  t.end()
})

t.test('a list that cannot be read removes nothing', (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, '.posthorn-backups.json'), '{"files": [{"name": "../../etc/passwd"')
  t.throws(() => rotateBackups(folder, { name: backupName(begin), bytes: 1 }, 1), { message: /nothing is removed/ })
  writeFileSync(join(folder, '.posthorn-backups.json'), '{"files": [{"name": "../x.db", "bytes": 1}]}')
  t.same(
    rotateBackups(folder, { name: backupName(begin), bytes: 1 }, 1),
    [],
    'names outside of the folder are not known',
  )
  t.end()
})
