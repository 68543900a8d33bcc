//! The tables of both engines, as a list of steps: docs/reference/store-format.md.
//!
//! Step n takes a history from schema n to n + 1, in a file and in a database alike, so that a
//! number means the same in both. Only ever append.

/// One step, in the words of each engine.
pub struct Step {
    /// Of a file.
    pub sqlite: &'static str,
    /// Of a database. What belongs to one machine (scratch files, processes) is not in it.
    pub postgresql: &'static str,
}

/// The schema version that the last step leads to.
pub const KNOWN: i64 = STEPS.len() as i64;

/// All steps.
pub const STEPS: &[Step] = &[
    // 1: runs without their cells, the cells, labels, and scratch files not yet removed. A cell is
    // a row of its own so that a save after each cell costs that cell and not all the earlier ones
    // too.
    Step {
        sqlite: "CREATE TABLE run (
             sequence INTEGER PRIMARY KEY AUTOINCREMENT, -- `last` goes by it: clocks jump
             id TEXT NOT NULL UNIQUE,
             started TEXT NOT NULL,
             state TEXT NOT NULL,
             method TEXT NOT NULL,
             target TEXT NOT NULL,
             summary TEXT NOT NULL,  -- JSON: RunSummary
             document TEXT NOT NULL, -- JSON: Record with empty `cells`
             owner_pid INTEGER,      -- only while running
             owner_started INTEGER,
             owner_boot TEXT,
             owner_namespace TEXT
         ) STRICT;
         CREATE INDEX run_state ON run (state);
         CREATE TABLE cell (
             run INTEGER NOT NULL REFERENCES run (sequence) ON DELETE CASCADE,
             position INTEGER NOT NULL,
             document TEXT NOT NULL, -- JSON: Cell
             PRIMARY KEY (run, position)
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE label (
             run INTEGER NOT NULL REFERENCES run (sequence) ON DELETE CASCADE,
             key TEXT NOT NULL,
             value TEXT NOT NULL,
             PRIMARY KEY (run, key)
         ) STRICT, WITHOUT ROWID;
         CREATE INDEX label_value ON label (value);
         CREATE TABLE scratch (
             path BLOB PRIMARY KEY,  -- bytes: a path need not be UTF-8
             run_id TEXT NOT NULL
         ) STRICT;",
        // Texts are compared byte by byte, as SQLite does, whatever the database's language is.
        postgresql: "CREATE TABLE run (
             sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             id text COLLATE \"C\" NOT NULL UNIQUE,
             started text COLLATE \"C\" NOT NULL,
             state text COLLATE \"C\" NOT NULL,
             method text COLLATE \"C\" NOT NULL,
             target text COLLATE \"C\" NOT NULL,
             summary jsonb NOT NULL,
             document jsonb NOT NULL
         );
         CREATE INDEX run_state ON run (state);
         CREATE TABLE cell (
             run bigint NOT NULL REFERENCES run (sequence) ON DELETE CASCADE,
             position bigint NOT NULL,
             document jsonb NOT NULL,
             PRIMARY KEY (run, position)
         );
         CREATE TABLE label (
             run bigint NOT NULL REFERENCES run (sequence) ON DELETE CASCADE,
             key text COLLATE \"C\" NOT NULL,
             value text COLLATE \"C\" NOT NULL,
             PRIMARY KEY (run, key)
         );
         CREATE INDEX label_value ON label (value);",
    },
    // 2: a run's flags in its summary; which save wrote a cell, so that who watches a run reads
    // only what is new; methods without reading the runs.
    Step {
        // How often the run was saved, and which of those wrote a cell.
        sqlite: "ALTER TABLE run ADD COLUMN saves INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE cell ADD COLUMN save INTEGER NOT NULL DEFAULT 0;
         CREATE INDEX run_method ON run (method);
         UPDATE run SET summary = json_set(summary, '$.flags', json((
             SELECT json_group_array(flag) FROM (
                 SELECT value AS flag FROM json_each(run.document, '$.flags')
                 UNION
                 SELECT flag.value FROM json_each(run.document, '$.targets') AS target,
                     json_each(target.value, '$.flags') AS flag
                 UNION
                 SELECT flag.value FROM cell, json_each(cell.document, '$.flags') AS flag
                 WHERE cell.run = run.sequence
                 ORDER BY flag))));",
        postgresql: "ALTER TABLE run ADD COLUMN saves bigint NOT NULL DEFAULT 0;
         ALTER TABLE cell ADD COLUMN save bigint NOT NULL DEFAULT 0;
         CREATE INDEX run_method ON run (method);",
    },
    // 3: what is searched for over many machines: host, drives, campaign, and all words of a run in
    // one column; of a cell what tables over a fleet are made of; histograms as rows.
    Step { sqlite: SEARCHED_SQLITE, postgresql: SEARCHED_POSTGRESQL },
    // 4: a search reads an index and not the runs, whose words lie behind their documents (SQLite;
    // an index of PostgreSQL takes no long texts, and its documents lie apart); a table over a part
    // of a fleet reads an index and not the cells (PostgreSQL; SQLite's has the run already).
    Step {
        sqlite: "CREATE INDEX run_searched
             ON run (started, id, state, method, host, campaign, target, words);",
        postgresql: "DROP INDEX cell_fleet;
         CREATE INDEX cell_fleet ON cell (method, name, drive, firmware, iops, host, run);",
    },
];

const SEARCHED_SQLITE: &str = "
    ALTER TABLE run ADD COLUMN host TEXT NOT NULL DEFAULT '';
    ALTER TABLE run ADD COLUMN campaign TEXT;
    ALTER TABLE run ADD COLUMN task INTEGER;
    ALTER TABLE run ADD COLUMN words TEXT NOT NULL DEFAULT ''; -- lower case, a line each
    CREATE INDEX run_host ON run (host);
    CREATE INDEX run_campaign ON run (campaign, task);
    CREATE TABLE drive (
        run INTEGER NOT NULL REFERENCES run (sequence) ON DELETE CASCADE,
        target INTEGER NOT NULL, -- which of the run's targets
        layer INTEGER NOT NULL,  -- which layer of its stack
        model TEXT,
        serial TEXT,
        firmware TEXT,
        PRIMARY KEY (run, target, layer)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX drive_model ON drive (model, firmware);
    CREATE INDEX drive_serial ON drive (serial);
    ALTER TABLE cell ADD COLUMN method TEXT NOT NULL DEFAULT '';
    ALTER TABLE cell ADD COLUMN name TEXT NOT NULL DEFAULT '';
    ALTER TABLE cell ADD COLUMN host TEXT NOT NULL DEFAULT '';
    ALTER TABLE cell ADD COLUMN drive TEXT;    -- the one drive below, or the model
    ALTER TABLE cell ADD COLUMN firmware TEXT;
    ALTER TABLE cell ADD COLUMN iops REAL NOT NULL DEFAULT 0;
    UPDATE run SET host = coalesce(json_extract(document, '$.environment.host.name'), '');
    INSERT INTO drive (run, target, layer, model, serial, firmware)
        SELECT run.sequence, target.key, layer.key, json_extract(layer.value, '$.drive.model'),
            json_extract(layer.value, '$.drive.serial'),
            json_extract(layer.value, '$.drive.firmware')
        FROM run, json_each(run.document, '$.targets') AS target,
            json_each(target.value, '$.stack') AS layer
        WHERE json_type(layer.value, '$.drive') = 'object';
    UPDATE run SET words = lower(id || char(10) || method || char(10) || target || char(10)
        || started || char(10) || host
        || coalesce((SELECT group_concat(char(10) || coalesce(model, '') || char(10)
               || coalesce(serial, '') || char(10) || coalesce(firmware, ''), '')
           FROM drive WHERE drive.run = run.sequence), '')
        || coalesce((SELECT group_concat(char(10) || key || '=' || value, '')
           FROM label WHERE label.run = run.sequence), '')
        || coalesce((SELECT group_concat(char(10) || value, '')
           FROM json_each(run.summary, '$.flags')), ''));
    UPDATE cell SET name = json_extract(document, '$.name'),
        iops = json_extract(document, '$.iops'),
        method = (SELECT method FROM run WHERE run.sequence = cell.run),
        host = (SELECT host FROM run WHERE run.sequence = cell.run),
        drive = (SELECT CASE WHEN json_extract(target.value, '$.kind') = 'model'
                        THEN json_extract(target.value, '$.text') END
                 FROM run, json_each(run.document, '$.targets') AS target
                 WHERE run.sequence = cell.run
                     AND target.key = json_extract(cell.document, '$.target'));
    UPDATE cell SET (drive, firmware) = (SELECT model, firmware FROM drive
            WHERE drive.run = cell.run
                AND drive.target = json_extract(cell.document, '$.target'))
        WHERE 1 = (SELECT count(*) FROM drive
            WHERE drive.run = cell.run
                AND drive.target = json_extract(cell.document, '$.target'));
    CREATE INDEX cell_fleet ON cell (method, name, drive, firmware, iops, host);
    CREATE VIEW histogram (run, position, lower_ns, count) AS
        SELECT cell.run, cell.position, json_extract(bucket.value, '$[0]'),
            json_extract(bucket.value, '$[1]')
        FROM cell, json_each(cell.document, '$.latency.histogram') AS bucket;";

const SEARCHED_POSTGRESQL: &str = "
    ALTER TABLE run ADD COLUMN host text COLLATE \"C\" NOT NULL DEFAULT '';
    ALTER TABLE run ADD COLUMN campaign text COLLATE \"C\";
    ALTER TABLE run ADD COLUMN task bigint;
    ALTER TABLE run ADD COLUMN words text COLLATE \"C\" NOT NULL DEFAULT '';
    CREATE INDEX run_host ON run (host);
    CREATE INDEX run_campaign ON run (campaign, task);
    CREATE TABLE drive (
        run bigint NOT NULL REFERENCES run (sequence) ON DELETE CASCADE,
        target bigint NOT NULL,
        layer bigint NOT NULL,
        model text COLLATE \"C\",
        serial text COLLATE \"C\",
        firmware text COLLATE \"C\",
        PRIMARY KEY (run, target, layer)
    );
    CREATE INDEX drive_model ON drive (model, firmware);
    CREATE INDEX drive_serial ON drive (serial);
    ALTER TABLE cell ADD COLUMN method text COLLATE \"C\" NOT NULL DEFAULT '';
    ALTER TABLE cell ADD COLUMN name text COLLATE \"C\" NOT NULL DEFAULT '';
    ALTER TABLE cell ADD COLUMN host text COLLATE \"C\" NOT NULL DEFAULT '';
    ALTER TABLE cell ADD COLUMN drive text COLLATE \"C\";
    ALTER TABLE cell ADD COLUMN firmware text COLLATE \"C\";
    ALTER TABLE cell ADD COLUMN iops double precision NOT NULL DEFAULT 0;
    UPDATE run SET host = coalesce(document #>> '{environment,host,name}', '');
    INSERT INTO drive (run, target, layer, model, serial, firmware)
        SELECT run.sequence, target.at - 1, layer.at - 1, layer.value #>> '{drive,model}',
            layer.value #>> '{drive,serial}', layer.value #>> '{drive,firmware}'
        FROM run,
            jsonb_array_elements(run.document -> 'targets') WITH ORDINALITY AS target (value, at),
            jsonb_array_elements(target.value -> 'stack') WITH ORDINALITY AS layer (value, at)
        WHERE jsonb_typeof(layer.value -> 'drive') = 'object';
    UPDATE run SET words = lower(id || chr(10) || method || chr(10) || target || chr(10)
        || started || chr(10) || host
        || coalesce((SELECT string_agg(chr(10) || coalesce(model, '') || chr(10)
               || coalesce(serial, '') || chr(10) || coalesce(firmware, ''), '')
           FROM drive WHERE drive.run = run.sequence), '')
        || coalesce((SELECT string_agg(chr(10) || key || '=' || value, '')
           FROM label WHERE label.run = run.sequence), '')
        || coalesce((SELECT string_agg(chr(10) || flag, '')
           FROM jsonb_array_elements_text(run.summary -> 'flags') AS flag), '') COLLATE \"C\");
    UPDATE cell SET name = cell.document ->> 'name',
        iops = CAST(cell.document ->> 'iops' AS double precision),
        method = run.method,
        host = run.host,
        drive = CASE WHEN run.document #>> ARRAY['targets', cell.document ->> 'target', 'kind']
                          = 'model'
                THEN run.document #>> ARRAY['targets', cell.document ->> 'target', 'text'] END
        FROM run WHERE run.sequence = cell.run;
    UPDATE cell SET drive = one.model, firmware = one.firmware
        FROM (SELECT run, target, min(model) AS model, min(firmware) AS firmware FROM drive
              GROUP BY run, target HAVING count(*) = 1) AS one
        WHERE one.run = cell.run AND one.target = CAST(cell.document ->> 'target' AS bigint);
    CREATE INDEX cell_fleet ON cell (method, name, drive, firmware, iops, host);
    CREATE VIEW histogram (run, position, lower_ns, count) AS
        SELECT cell.run, cell.position, CAST(bucket ->> 0 AS bigint),
            CAST(bucket ->> 1 AS bigint)
        FROM cell, jsonb_array_elements(cell.document #> '{latency,histogram}') AS bucket;";
