/** The settings of a listener in a test: those of the configuration's defaults, and what a test changes of them or of the limits. */
import type { Config } from '../../../src/base/config/complete.js'
import { defaultMxLimits, type MxLimits } from '../../../src/servers/smtp/mx/mx-deps.js'
import { defaultSubmissionLimits, type SubmissionLimits } from '../../../src/servers/smtp/submission/submission-deps.js'
import { testConfig } from '../../helpers/doctor/test-config.js'

const anyPort = { host: '127.0.0.1', port: 0 }
const defaults = testConfig({})

export type MxSettings = Partial<Config['inbound'] & MxLimits>
export type SubmissionSettings = Partial<Config['submission'] & SubmissionLimits>

interface Given<Section, Limits> {
  readonly settings: () => Section
  readonly limits: Limits
}

export function mxSettings(changed: MxSettings): Given<Config['inbound'], MxLimits> {
  return {
    settings: () => ({ ...defaults.inbound, listen: [anyPort], ...changed }),
    limits: { ...defaultMxLimits, ...changed },
  }
}

export function submissionSettings(changed: SubmissionSettings): Given<Config['submission'], SubmissionLimits> {
  return {
    settings: () => ({ ...defaults.submission, listen: [anyPort], listen_tls: [anyPort], ...changed }),
    limits: { ...defaultSubmissionLimits, ...changed },
  }
}
