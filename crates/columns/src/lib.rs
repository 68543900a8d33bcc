//! The long form of runs as Apache Parquet: the columns of the CSV table, each with its type.
//!
//! ```text
//!   records -> report::long_form::columns -> file -> bytes for DuckDB, Polars, pandas
//! ```
//!
//! One row group, dictionaries for words, no compression. What is an empty field in CSV is a null
//! here.
#![cfg(feature = "writer")]
#![forbid(unsafe_code)]

use parquet::{
    basic::{LogicalType, Repetition, Type as Physical},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type},
    errors::Result,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::{Type, TypePtr},
};
use report::{export::PARQUET_MARK, long_form::Column};
use std::sync::Arc;

/// The file.
pub fn file(columns: &[(&'static str, Column)]) -> Vec<u8> {
    written(columns).expect("bytes in memory take all that is written")
}

fn written(columns: &[(&'static str, Column)]) -> Result<Vec<u8>> {
    let fields = columns.iter().map(|(name, column)| field(name, column)).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("drivelab").with_fields(fields).build()?;
    let mark = KeyValue::new("drivelab".to_owned(), PARQUET_MARK.to_owned());
    let properties = WriterProperties::builder()
        .set_created_by(format!("drivelab {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![mark]))
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (_, column) in columns {
        write(column, &mut group)?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn field(name: &str, column: &Column) -> Result<TypePtr> {
    let (physical, logical) = match column {
        Column::Words(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Column::Counts(_) => (Physical::INT64, None),
        Column::Passes(_) => (Physical::INT32, None),
        Column::Numbers(_) => (Physical::DOUBLE, None),
    };
    let field = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    Ok(Arc::new(field.build()?))
}

fn write(column: &Column, group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>) -> Result<()> {
    let mut writer = group.next_column()?.expect("as many columns as fields");
    match column {
        Column::Words(words) => {
            let (words, levels) = dense(words);
            let words: Vec<ByteArray> =
                words.iter().map(|word| word.as_bytes().to_vec().into()).collect();
            writer.typed::<ByteArrayType>().write_batch(&words, Some(&levels), None)?;
        }
        Column::Counts(counts) => {
            let (counts, levels) = dense(counts);
            writer.typed::<Int64Type>().write_batch(&counts, Some(&levels), None)?;
        }
        Column::Passes(passes) => {
            let (passes, levels) = dense(passes);
            writer.typed::<Int32Type>().write_batch(&passes, Some(&levels), None)?;
        }
        Column::Numbers(numbers) => {
            let (numbers, levels) = dense(numbers);
            writer.typed::<DoubleType>().write_batch(&numbers, Some(&levels), None)?;
        }
    }
    writer.close()
}

/// The values that are there, and for each row whether it has one: its definition level.
fn dense<T: Clone>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (values.iter().flatten().cloned().collect(), levels)
}

#[cfg(test)]
mod parquet_tests {
    use super::*;
    use parquet::{
        file::{reader::FileReader, serialized_reader::SerializedFileReader},
        record::Field,
    };
    use record::Record;
    use report::{Format, export::Kind, long_form};

    fn example() -> Record {
        let text = include_str!("../../record/tests/example.json");
        Record::from_json(text, "example.json").expect("a record")
    }

    fn exported(records: &[&Record]) -> Vec<u8> {
        Kind::Parquet.bytes(records, Some(file)).expect("there is a writer").bytes
    }

    /// As CSV has it: nothing for a null.
    fn text(field: &Field) -> String {
        match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::Double(number) => number.to_string(),
            other => other.to_string(),
        }
    }

    #[test]
    fn each_row_holds_what_its_line_of_csv_holds() {
        let record = example();
        let bytes = bytes::Bytes::from(exported(&[&record, &record]));
        let reader = SerializedFileReader::new(bytes).expect("a Parquet file");
        let schema = reader.metadata().file_metadata().schema_descr();
        let names: Vec<String> =
            (0..schema.num_columns()).map(|at| schema.column(at).name().to_owned()).collect();
        assert_eq!(names.join(","), long_form::HEAD);
        let csv = long_form::csv(&[&record, &record]);
        let lines = csv.lines().skip(1);
        let rows = reader.get_row_iter(None).expect("rows");
        let mut count = 0;
        for (row, line) in rows.zip(lines.clone()) {
            let row = row.expect("a row");
            let fields: Vec<String> = row.get_column_iter().map(|(_, field)| text(field)).collect();
            assert_eq!(fields.join(","), line);
            count += 1;
        }
        assert_eq!(count, lines.count());
    }

    #[test]
    fn a_table_without_rows_is_a_file_all_the_same() {
        let reader = SerializedFileReader::new(bytes::Bytes::from(exported(&[]))).expect("a file");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }

    #[test]
    fn the_file_is_known_as_ours_and_as_no_other_format() {
        let bytes = exported(&[&example()]);
        for kind in Kind::ALL {
            let is_ours = kind.format().is_ours(std::io::Cursor::new(&bytes)).expect("is read");
            assert_eq!(is_ours, kind.format() == Format::Parquet, "{}", kind.name());
        }
    }
}
