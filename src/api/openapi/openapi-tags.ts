/** Descriptions of the tags of the OpenAPI document. */

export const tagDescriptions: Readonly<Record<string, string>> = {
  'API keys': 'Keys of the workspace: the secret of requests, and the password of SMTP.',
  Emails: 'Mail that is sent now, later, or in batches, and its delivery.',
  Contacts: 'People to write to, with names and metadata.',
  Audiences: 'Lists of contacts.',
  Templates: 'Subjects and bodies with variables.',
  Files: 'Files that are stored once and sent many times.',
  Domains: 'Domains that send and receive mail, with their DNS records.',
  Suppressions: 'Addresses that no mail is sent to.',
  Imports: 'Imports of long CSV files.',
  'Inbound email': 'Received mail, its attachments, and replies to it.',
  Workspaces: 'The owners of domains, keys and mail.',
  Members: 'The people of a workspace, and their roles.',
  Invitations: 'Pending invitations to a workspace.',
  Usage: 'What is used of the plan.',
  'Audit log': 'Administrative acts.',
}
