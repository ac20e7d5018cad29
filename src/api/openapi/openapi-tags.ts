/** What the groups of the OpenAPI document hold, by their names. */

export const tagDescriptions: Readonly<Record<string, string>> = {
  'API keys': 'Keys of the workspace: the secret of requests, and the password of SMTP.',
  Emails: 'Mail that is sent: now, later, many at once; and what became of it.',
  Contacts: 'People to write to, with what is known of them.',
  Audiences: 'Lists of contacts.',
  Templates: 'Subjects and bodies with variables.',
  Files: 'Files that are sent often.',
  Domains: 'Domains that mail is sent from and taken in for, with their DNS records.',
  Suppressions: 'Addresses that are not written to.',
  Imports: 'Files of many lines that are being imported.',
  'Inbound email': 'Mail that came in, its attachments, and answers to it.',
  Workspaces: 'What domains, keys and mail belong to.',
  Members: 'People of a workspace, and what they may do.',
  Invitations: 'People who are asked to become members.',
  Usage: 'What was used of the plan.',
  'Audit log': 'Who did what.',
}
