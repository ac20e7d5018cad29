/** All rules of spam scoring, by subject. */

import { attachmentRules } from './attachments.js'
import { authenticationRules } from './authentication.js'
import { charsetRules } from './charset.js'
import { dateRules } from './dates.js'
import { gtubeRules } from './gtube.js'
import { headerRules } from './headers.js'
import { hostingRules } from './hosting.js'
import { htmlRules } from './html.js'
import { impersonationRules } from './impersonation.js'
import type { SpamRule } from './spam-rule.js'
import { structureRules } from './structure.js'
import { urlRules } from './urls.js'
import { fraudWording } from './wording-frauds.js'
import { phishingWording } from './wording-phishing.js'
import { productWording } from './wording-products.js'
import { salesWording } from './wording-sales.js'

export const spamRules: readonly SpamRule[] = [
  ...gtubeRules,
  ...structureRules,
  ...headerRules,
  ...dateRules,
  ...authenticationRules,
  ...impersonationRules,
  ...urlRules,
  ...hostingRules,
  ...htmlRules,
  ...charsetRules,
  ...attachmentRules,
  ...salesWording,
  ...productWording,
  ...fraudWording,
  ...phishingWording,
]
