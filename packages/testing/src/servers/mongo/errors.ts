/** Errors as the server answers them: a code, its name, and labels for the driver. */
const CODE_NAMES: Readonly<Record<number, string>> = {
  1: "InternalError",
  2: "BadValue",
  9: "FailedToParse",
  13: "Unauthorized",
  14: "TypeMismatch",
  16: "InvalidLength",
  20: "IllegalOperation",
  26: "NamespaceNotFound",
  27: "IndexNotFound",
  28: "PathNotViable",
  40: "ConflictingUpdateOperators",
  43: "CursorNotFound",
  48: "NamespaceExists",
  50: "MaxTimeMSExpired",
  52: "DollarPrefixedFieldName",
  53: "InvalidIdField",
  54: "NotSingleValueField",
  56: "EmptyFieldName",
  59: "CommandNotFound",
  66: "ImmutableField",
  67: "CannotCreateIndex",
  72: "InvalidOptions",
  73: "InvalidNamespace",
  85: "IndexOptionsConflict",
  86: "IndexKeySpecsConflict",
  100: "UnsatisfiableWriteConcern",
  112: "WriteConflict",
  115: "CommandNotSupported",
  117: "ConflictingOperationInProgress",
  168: "InvalidPipelineOperator",
  171: "CannotIndexParallelArrays",
  197: "InvalidIndexSpecificationOption",
  225: "TransactionTooOld",
  246: "SnapshotUnavailable",
  251: "NoSuchTransaction",
  256: "TransactionCommitted",
  263: "OperationNotSupportedInTransaction",
  280: "ChangeStreamFatalError",
  286: "ChangeStreamHistoryLost",
  10003: "CannotGrowDocumentInCappedNamespace",
  10107: "NotWritablePrimary",
  10334: "BSONObjectTooLarge",
  11000: "DuplicateKey",
  13435: "NotPrimaryNoSecondaryOk",
};

/** A command, or one statement of it, that is refused. */
export class CommandError extends Error {
  readonly code: number;
  /** Further fields of the answer, such as `keyPattern`. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(code: number, message: string, fields: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.fields = fields;
  }

  get codeName(): string {
    return CODE_NAMES[this.code] ?? `Location${this.code}`;
  }
}

/** Refuses what the double does not know, rather than doing something else. */
export const refuse = (message: string): CommandError => new CommandError(115, `The double of MongoDB does not know ${message}.`);
