/** The sandbox cannot start, for a reason that its user can mend: one line that says how. */
export class CannotStart extends Error {
  override name = 'CannotStart'
}
