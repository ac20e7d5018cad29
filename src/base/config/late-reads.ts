/**
 * Reads from the environment whether tests ask for late reads of the database: `POSTHORN_TEST_READS=late`, with the seed
 * of their delays in `POSTHORN_TEST_SEED`.
 */
import { randomInt } from 'node:crypto'

/** Returns the seed, which is random if it is not given, or null if reads are not late. */
export function findLateReadsSeed(environment: NodeJS.ProcessEnv = process.env): number | null {
  if (environment['POSTHORN_TEST_READS'] !== 'late') return null
  const given = Number(environment['POSTHORN_TEST_SEED'] ?? '')
  return given > 0 ? given : randomInt(1, 1_000_000)
}
