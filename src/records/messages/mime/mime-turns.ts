/**
 * Decides which message gets which parsing process next.
 *
 * Turns go round among the owners of workspaces, and no owner ever has all processes. So an owner who receives messages
 * that take long delays only their own mail. However many messages wait in all, an owner may always add one if none of
 * theirs waits.
 *
 * While no other owner waits, a process that has small messages of an owner gets a few more of them before it has
 * answered, so that it need not wait for this process between two messages.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import { OwnerQueue } from '../../../base/platform/owner-queue.js'

interface Job<Process> {
  /** Settles the promise of its caller. Resolves to false if the process ended; the job must then run again, alone. */
  readonly run: (process: Process) => Promise<boolean>
  readonly reject: (error: unknown) => void
  /** True if the job takes a process only a moment. */
  readonly isSmall: boolean
}

interface TurnLimits {
  /** The most messages that wait, in all and of one owner. */
  readonly maxWaiting: number
  readonly maxWaitingPerWorkspace: number
}

/** The messages of an owner that a process has. */
interface Turn<Process> {
  readonly process: Process
  readonly owner: string
  jobs: number
  /** True if all messages are small, and the process may have more of them. */
  isOpen: boolean
}

/** The most small messages that a process has at a time. */
const MAX_SMALL_JOBS = 4

export class MimeTurns<Process> {
  private readonly idleProcesses: Process[]
  private readonly turns = new Set<Turn<Process>>()
  private readonly waiting = new OwnerQueue<Job<Process>>()
  private isClosed = false

  constructor(
    private readonly processes: readonly Process[],
    private readonly limits: TurnLimits,
  ) {
    this.idleProcesses = [...processes]
  }

  /** Throws a Refusal if too many messages wait. */
  add(owner: string, job: Job<Process>): void {
    const ofOwner = this.waiting.countOf(owner)
    if (this.isClosed) throw buildBusy()
    if (ofOwner >= this.limits.maxWaitingPerWorkspace) throw buildTooManyWaiting(ofOwner)
    if (ofOwner > 0 && this.waiting.size >= this.limits.maxWaiting) throw buildBusy()
    this.waiting.add(owner, job)
    this.startJobs()
  }

  /** Rejects all waiting and all later jobs. */
  close(): void {
    this.isClosed = true
    for (const { reject } of this.waiting.clear()) reject(buildBusy())
  }

  private startJobs(): void {
    while (this.startTurn());
    for (const turn of this.turns) while (this.addToTurn(turn));
  }

  private startTurn(): boolean {
    const [process] = this.idleProcesses
    const next = process === undefined ? undefined : this.waiting.takeNext((owner) => this.mayStart(owner))
    if (process === undefined || next === undefined) return false
    const { owner, item: job } = next
    this.idleProcesses.shift()
    const turn = { process, owner, jobs: 0, isOpen: job.isSmall }
    this.turns.add(turn)
    void this.runJob(turn, job)
    return true
  }

  private addToTurn(turn: Turn<Process>): boolean {
    const { owner, jobs, isOpen } = turn
    if (!isOpen || jobs >= MAX_SMALL_JOBS || this.waiting.hasOthersThan(owner)) return false
    const job = this.waiting.peek(owner)?.isSmall === true ? this.waiting.take(owner) : undefined
    if (job === undefined) return false
    void this.runJob(turn, job)
    return true
  }

  private mayStart(owner: string): boolean {
    const own = [...this.turns].filter((turn) => turn.owner === owner)
    return own.length < Math.max(this.processes.length - 1, 1)
  }

  private async runJob(turn: Turn<Process>, job: Job<Process>): Promise<void> {
    turn.jobs += 1
    try {
      // This awaits a job even if it settled at once, so that the next job never starts inside the call stack of this
      // one.
      if (!(await job.run(turn.process))) this.putBack(turn, job)
    } catch (error) {
      job.reject(error)
    }
    turn.jobs -= 1
    if (turn.jobs === 0) {
      this.turns.delete(turn)
      this.idleProcesses.unshift(turn.process) // one that runs already is preferred to one that has to be started
    }
    this.startJobs()
  }

  /** Puts the job at the front of its queue. The turn ends when all of its jobs are back. */
  private putBack(turn: Turn<Process>, job: Job<Process>): void {
    turn.isOpen = false
    if (this.isClosed) {
      job.reject(buildBusy())
      return
    }
    this.waiting.putBack(turn.owner, { ...job, isSmall: false })
  }
}

/** The refusal of too many messages: the owner caused it, and it ends as soon as their messages are read. */
function buildTooManyWaiting(waiting: number): Refusal {
  const message = `${waiting} messages of this workspace, or of others of its owner, are waiting to be read: try again in 1 s`
  return new Refusal('rate-limited', message, { retry_after: 1 })
}

function buildBusy(): Refusal {
  return new Refusal('unavailable', 'too many messages are being read, try again later')
}
