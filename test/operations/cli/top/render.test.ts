/** Ages as people read them. */
import t from 'tap'
import { formatAge } from '../../../../src/operations/cli/top/render.js'

t.test('the two largest units', async (t) => {
  const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]
  const rows: readonly (readonly [number, string])[] = [
    [-5, '0 s'],
    [0, '0 s'],
    [59 * second, '59 s'],
    [minute, '1 min'],
    [minute + second, '1 min 1 s'],
    [hour + second, '1 h'],
    [2 * day + 3 * hour + 59 * minute, '2 d 3 h'],
  ]
  for (const [age, text] of rows) t.equal(formatAge(age), text)
})
