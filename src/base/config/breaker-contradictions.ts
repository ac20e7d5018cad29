/**
 * Finds settings of the circuit breaker that contradict each other: a hold below its warning would never be warned of.
 */
import type { Problem } from './problems.js'
import type { Settings } from './schema.js'

export function findBreakerContradictions({ breaker }: Settings['limits']): readonly Problem[] {
  return (['bounce', 'complaint'] as const).flatMap((cause) => {
    const [warn, hold] = [breaker[`${cause}_warn_percent`], breaker[`${cause}_hold_percent`]]
    if (warn <= hold) return []
    const message = `found ${hold}; allowed: at least limits.breaker.${cause}_warn_percent, ${warn}`
    return [{ key: `limits.breaker.${cause}_hold_percent`, message }]
  })
}
