/** Says that this is a local trial, in which a run of all checks leaves some out. */
import type { Check, CheckDeps } from '../check.js'
import { good, type Judgement } from '../finding.js'
import { isLocalTrial } from '../local-trial.js'

export const trialChecks: readonly Check[] = [
  { name: 'trial', summary: 'says so if this is a local trial', run: async (deps) => judgeTrial(deps) },
]

function judgeTrial({ config }: Pick<CheckDeps, 'config'>): readonly Judgement[] {
  if (!isLocalTrial(config)) return []
  return [good(config.service.hostname, 'this is a local trial: checks of the public DNS are left out')]
}
