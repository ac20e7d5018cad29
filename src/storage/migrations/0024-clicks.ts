/** An index of the links that were clicked, in the order of the statistics of an email. */
import { runStatements } from '../migrate.js'

export const up = runStatements(['create index links_clicked on links (email_id, clicks desc) where clicks > 0'])
