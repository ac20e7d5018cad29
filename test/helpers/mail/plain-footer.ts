import type { MailFooter } from '../../../src/workspaces/accounts/workspace/mail-footer.js'

/** The footer of broadcasts in a new workspace. */
export const plainFooter: MailFooter = { language: 'en', postalAddress: null }
