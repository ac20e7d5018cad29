/** Rules on attachments, by name and declared type. */
import { hasDirectionOverride } from '../facts/script-facts.js'
import type { SpamAttachment } from '../facts/spam-message.js'
import type { SpamRule } from './spam-rule.js'

const programExtensions =
  /\.(?:exe|scr|pif|com|bat|cmd|vbs?|vbe|jse?|wsf|wsh|hta|cpl|msi|jar|lnk|ps1|reg|chm|apk|app|iso|img|vhdx?|one|url)$/i
const documentExtensions = 'pdf|docx?|xlsx?|pptx?|txt|rtf|jpe?g|gif|png|zip|html?|mp[34]|csv|mpe?g|avi|wav'
const doubleExtension = new RegExp(
  `\\.(?:${documentExtensions})[\\s_.]*\\.(?:exe|scr|pif|com|bat|cmd|vbs|js|wsf|hta|lnk|jar|html?|iso)$`,
  'i',
)

const hasAttachment = (test: (name: string, one: SpamAttachment) => boolean): SpamRule['test'] => {
  return ({ message }) => message.attachments.some((one) => test((one.filename ?? '').trim(), one))
}

const isWebPage = ({ filename }: SpamAttachment): boolean =>
  /\.(?:s?html?|xht(?:ml)?|svg|mht)$/i.test((filename ?? '').trim())

export const attachmentRules: readonly SpamRule[] = [
  {
    name: 'ATTACHED_PROGRAM',
    weight: 4,
    description: 'a program is attached',
    test: hasAttachment(
      (name, { contentType }) =>
        programExtensions.test(name) || /\/x-(?:msdownload|dosexec|ms-shortcut)$/.test(contentType),
    ),
  },
  {
    name: 'ATTACHED_DOUBLE_EXTENSION',
    weight: 4,
    description: 'an attachment that pretends to be of another type',
    test: hasAttachment((name) => doubleExtension.test(name)),
  },
  {
    name: 'ATTACHED_HIDDEN_EXTENSION',
    weight: 4,
    description: "an attachment's extension is hidden behind many blanks or reversed letters",
    test: hasAttachment((name) => hasDirectionOverride(name) || /\s{8}\.\w{1,5}$/.test(name)),
  },
  {
    name: 'ATTACHED_TYPE_MISMATCH',
    weight: 2,
    description: 'a picture or sound by its type, a program by its name',
    test: hasAttachment(
      (name, { contentType }) => programExtensions.test(name) && /^(?:image|audio|video|text)\//.test(contentType),
    ),
  },
  {
    name: 'ATTACHED_MACROS',
    weight: 2,
    description: 'a document of a type for macros',
    test: hasAttachment((name) => /\.(?:docm|dotm|xlsm|xltm|xlam|pptm|potm|ppam|xll)$/i.test(name)),
  },
  {
    name: 'ATTACHED_PAGE',
    weight: 1.6,
    description: 'a web page as an attachment',
    test: ({ message }) => message.attachments.some(isWebPage),
  },
  {
    name: 'ATTACHED_PAGE_ASKS',
    weight: 2.5,
    description: 'an attached web page that asks for a password or submits a form',
    test: ({ attachedPages }) => attachedPages.asksForInput,
  },
  {
    name: 'ATTACHED_PAGE_UNFOLDS',
    weight: 2,
    description: 'an attached web page that redirects or is written by its own script',
    test: ({ attachedPages }) => attachedPages.unpacksItself,
  },
  {
    name: 'LURE_IN_ATTACHMENT',
    weight: 1,
    description: 'asks for something by an attached web page',
    test: (facts) => facts.impersonation.phishingTopics.size > 0 && facts.message.attachments.some(isWebPage),
  },
]
